/**
 * Installs the chart in the cluster of `npm run kube`, changes its values, and prints the results as JSON. The
 * cluster has the kinds of other operators, without the operators.
 *
 *   npm run kube -- node --conditions=source test/charts/in-cluster.ts
 */
import { Cluster } from '../kubernetes/cluster.ts';
import { feed } from '../kubernetes/run.ts';
import { CHART, CHARTS, cases, rendered, renderedOf, valuesOf, withValues } from './helm.ts';
import { parseObjects } from './objects.ts';
import { DEFINITIONS } from './third-party-kinds.ts';

export interface ChartFacts {
  /** Errors of the API server for renders that it rejects. */
  readonly refused: readonly string[];
  /** Number of FAULTS that the API server rejects. */
  readonly caught: number;
  /** The log of `helm test`. */
  readonly tested: string;
  /** Number of pods, out of three, that were not replaced after a change of values that needs no restart. */
  readonly kept: number;
  /** Number of pods that a changed node setting did not replace. */
  readonly keptByRestart: number;
  /** True when an upgrade of the release keeps its generated secrets. */
  readonly hasKeptSecrets: boolean;
  /** Number of pods that survived the re-creation of their StatefulSet for larger volumes. */
  readonly keptByOrphaning: number;
}

const NAMESPACE = 'default';
const PODS = ['cairn-0', 'cairn-1', 'cairn-2'];
const DRY_RUN = ['--namespace=prod', '--dry-run=server', '--validate=strict', '--warnings-as-errors'];
/** An unknown field, and a route that violates a rule in CEL: name of the values, text in their render, replacement. */
const FAULTS = [
  ['monitoring', 'scrapeTimeout:', 'scrapeTimeouts:'],
  ['gateway', 'type: PathPrefix', 'type: Exact'],
] as const;
const WAIT = ['--wait', '--timeout', '5m'];

const cluster = new Cluster();
const [repository = '', tag = ''] = cluster.image.split(':');
const SMALL = withValues({
  image: { repository, tag, pullPolicy: 'Never' },
  resources: { requests: { cpu: '50m', memory: '256Mi' }, limits: { memory: '1Gi' } },
  persistence: { size: '1Gi' },
});

process.stdout.write(`${JSON.stringify(await facts())}\n`);
process.exit(0);

async function facts(): Promise<ChartFacts> {
  await cluster.kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
  await cluster.kubectl('create', 'namespace', 'prod');
  await cluster.kubectl('label', 'namespace', 'prod', 'pod-security.kubernetes.io/warn=restricted');
  await apply(DEFINITIONS);
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=1m');
  const refused = await refusals(
    CHARTS.flatMap((chart) =>
      cases(chart).map((name) => [`${chart} ${name}`, renderedOf(chart, '--values', valuesOf(name, chart))] as const),
    ),
  );
  const faulty = FAULTS.map(([name, what, instead]) => {
    return [`${name} with ${instead}`, rendered('--values', valuesOf(name)).replace(what, instead)] as const;
  });
  const caught = (await refusals(faulty)).length;
  await cluster.helm('install', 'cairn', CHART, ...SMALL, ...WAIT);
  const tested = await cluster.helm('test', 'cairn', '--logs', '--timeout', '2m');
  const secrets = await secretsOf();
  const first = await cluster.uidsOf(PODS);
  await upgrade('--set', 'replicas=4,service.type=NodePort,networkPolicy.peers[0].namespaceSelector.matchLabels.a=b');
  const kept = await keptOf(first);
  await cluster.kubectl('delete', 'statefulset', 'cairn', '--cascade=orphan');
  await upgrade('--set', 'persistence.size=2Gi');
  const keptByOrphaning = await keptOf(first);
  await upgrade('--set', 'config.logLevel=debug');
  await cluster.kubectl('rollout', 'status', 'statefulset/cairn', '--timeout', '5m');
  const keptByRestart = await keptOf(first);
  return {
    refused,
    caught,
    tested,
    kept,
    keptByOrphaning,
    keptByRestart,
    hasKeptSecrets: (await secretsOf()) === secrets,
  };
}

function upgrade(...changes: readonly string[]): Promise<string> {
  return cluster.helm('upgrade', 'cairn', CHART, '--reuse-values', ...changes, ...WAIT);
}

function secretsOf(): Promise<string> {
  return cluster.kubectl('get', 'secret', 'cairn-auth', 'cairn-peer', '--output=jsonpath={.items[*].data}');
}

async function keptOf(before: ReadonlySet<string>): Promise<number> {
  const now = await cluster.uidsOf(PODS);
  return [...now].filter((uid) => before.has(uid)).length;
}

function apply(items: readonly object[], ...args: readonly string[]): Promise<string> {
  return feed(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), 'kubectl', 'apply', ...args, '-f', '-');
}

/**
 * Returns the errors of dry runs, which create nothing. Warnings count, for example about unknown fields or Pod
 * Security.
 */
async function refusals(renders: readonly (readonly [name: string, text: string])[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, text] of renders) {
    await apply(parseObjects(text), ...DRY_RUN).catch((error: unknown) => found.push(`${name}: ${String(error)}`));
  }
  return found;
}
