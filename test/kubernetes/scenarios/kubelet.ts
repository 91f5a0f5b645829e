/**
 * Starts a few pods and collects the facts that show how the kubelet and the network of the harness treat them, as
 * kubectl and clients see it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, eventually } from '../cluster.ts';
import { feed } from '../run.ts';

export interface KubeletFacts {
  /** The variables and files that a pod found, requested by the name of its Service. */
  readonly greeting: unknown;
  /** The same, after its ConfigMap has changed. */
  readonly refreshed: unknown;
  readonly log: string;
  /** Output of a command that `kubectl exec` ran, and its message about one that failed. */
  readonly executed: { readonly output: string; readonly failure: string };
  readonly crashed: { readonly log: string; readonly reason: string | undefined };
  readonly unknownImage: string | undefined;
  /** True for each Job that has reached the pod that a network policy guards. */
  readonly reached: { readonly friend: boolean; readonly stranger: boolean };
}

const IN_GREETER = ['exec', 'greeter', '--', 'node', '--eval'];
const GREETER = 'http://greeter.default.svc.cluster.local';

export async function kubeletFacts(cluster: Cluster): Promise<KubeletFacts> {
  const text = readFileSync(join(import.meta.dirname, 'kubelet.yaml'), 'utf8');
  await feed(text.replaceAll('cairn:IMAGE_TAG', cluster.image), 'kubectl', 'apply', '--server-side', '-f', '-');
  await cluster.untilReady(['greeter']);
  const greeting = await greet();
  await cluster.kubectl('patch', 'configmap', 'settings', '--patch', '{"data":{"greeting":"good day"}}');
  await eventually('the file to change', async () => (await greet()).file === 'good day');
  await eventually('two crashes', async () => (await stateOf(cluster, 'crashing')).restarts >= 2);
  let reason: string | undefined;
  await eventually('the back-off', async () => {
    ({ reason } = await stateOf(cluster, 'crashing'));
    return reason !== undefined;
  });
  const jobs = ['friend', 'stranger'];
  await eventually('both Jobs to end', async () => {
    const ends = await Promise.all(jobs.map((job) => conditionsOf(cluster, job)));
    return ends.every((conditions) => conditions !== '');
  });
  const [friend = '', stranger = ''] = await Promise.all(jobs.map((job) => conditionsOf(cluster, job)));
  return {
    greeting,
    refreshed: await greet(),
    log: await cluster.kubectl('logs', 'greeter', '--tail=1'),
    executed: {
      output: await cluster.kubectl(...IN_GREETER, 'console.log(process.pid > 1)'),
      failure: await cluster.kubectl(...IN_GREETER, 'process.exit(7)').catch(String),
    },
    crashed: {
      log: await cluster.kubectl('logs', 'crashing', '--previous'),
      reason,
    },
    unknownImage: (await stateOf(cluster, 'unknown-image')).reason,
    reached: { friend: friend.includes('Complete'), stranger: stranger.includes('Complete') },
  };
}

async function greet(): Promise<{ readonly file: string }> {
  return (await fetch(GREETER)).json() as Promise<{ readonly file: string }>;
}

async function stateOf(
  cluster: Cluster,
  pod: string,
): Promise<{ readonly restarts: number; readonly reason: string | undefined }> {
  const [status] = (await cluster.pod(pod)).status.containerStatuses ?? [];
  return { restarts: status?.restartCount ?? 0, reason: status?.state?.waiting?.reason };
}

function conditionsOf(cluster: Cluster, job: string): Promise<string> {
  return cluster.kubectl('get', 'job', job, '--output=jsonpath={.status.conditions[*].type}');
}
