/**
 * Runs a scenario in the cluster of `npm run kube`, with further values of the chart, and prints its result as one
 * line of JSON.
 *
 *   npm run kube -- node --conditions=source test/kubernetes/scenarios/main.ts leader-deleted drain.lingerSeconds=5
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster } from '../cluster.ts';
import { kubeletFacts } from './kubelet.ts';
import { runIn } from './scenarios.ts';

const LOG_LINES = 60;

const [name = '', ...values] = process.argv.slice(2);
const cluster = new Cluster();
try {
  const result = await (name === 'kubelet' ? kubeletFacts(cluster) : runIn(cluster, name, values));
  process.stdout.write(`${JSON.stringify(result)}\n`);
} catch (error) {
  const pods = await cluster.kubectl('get', 'pods', '--all-namespaces', '--output=wide').catch(String);
  const logs = await cluster
    .kubectl('logs', '--selector=app.kubernetes.io/name=cairn', '--tail=10', '--prefix')
    .catch(String);
  const kubelet = readFileSync(join(cluster.dir, 'kubelet.log'), 'utf8').split('\n').slice(-LOG_LINES).join('\n');
  const resources = await cluster.kubectl('get', 'cairnclusters', '--output=yaml').catch(String);
  const operator = await cluster
    .kubectl('logs', '--namespace=cairn-system', '--selector=app.kubernetes.io/name=cairn-operator', '--tail=60')
    .catch(String);
  process.stderr.write(`${resources}\n${operator}\n${pods}\n${logs}\n${kubelet}\n`);
  throw error;
}
process.exit(0);
