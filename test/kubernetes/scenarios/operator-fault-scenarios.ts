/** Scenarios in which the operator itself fails while it restarts the nodes of a cluster. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Lease } from '../../../operator/src/kube/index.ts';
import { type Cluster, eventually, isReady } from '../cluster.ts';
import type { Pod, Resource } from '../objects.ts';
import { run } from '../run.ts';
import { PODS } from './install.ts';
import { changeCluster, expectKept, OPERATOR_NAMESPACE, until } from './operator.ts';
import { runRandomly } from './random-run.ts';
import { type ScenarioRun, type Scenarios, SOME } from './scenario.ts';

const OPERATOR_PODS = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/pods`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases/cairn-operator`;
/** Times after it became the leader at which an operator is killed, one operator after the other. */
const KILLED_AFTER_MS = [0, 1000, 3000, 5000];
const AWAY_MS = 120_000;
/** Time in which an operator that acts twice would have restarted a pod again. */
const QUIET_MS = 15_000;
const ROLLED_WITHIN_MS = 400_000;

export const OPERATOR_FAULT_SCENARIOS: Scenarios<
  'two-operators' | 'operator-killed' | 'operator-without-api' | 'operator-random'
> = {
  'two-operators': { spec: {}, operatorValues: ['replicas=2'], act: handOver },
  'operator-killed': { spec: {}, act: (found) => restartOnce(found, () => killOperators(found.cluster)) },
  'operator-without-api': { spec: {}, act: cutOff },
  'operator-random': { spec: { repair: { afterSeconds: 60 } }, operatorValues: ['replicas=2'], act: runRandomly },
};

/** Ends the acting operator after it has replaced a pod; the other one continues. They never act at the same time. */
async function handOver(found: ScenarioRun): Promise<void> {
  const { cluster } = found;
  await restartOnce(found, async (deleted) => {
    await eventually('a pod to be replaced', () => Promise.resolve(deleted.size > 0));
    const acting = await actingOperator(cluster);
    await cluster.kubectl('delete', 'pod', acting, `--namespace=${OPERATOR_NAMESPACE}`, '--wait=false');
  });
  const actors = await actorsOf(cluster);
  if (actors.length !== 2 || actors[0] === actors[1]) throw new Error(`acted, in this order: ${actors.join(', ')}`);
}

/** Lets the operator restart all pods, each of them once, while `meanwhile` runs. */
async function restartOnce(
  { cluster, clients, step }: ScenarioRun,
  meanwhile: (deleted: ReadonlySet<string>) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const deleted = await countDeletions(cluster, over.signal);
  const before = await cluster.uidsOf(PODS);
  await step('rolling restart', async () => {
    await changeCluster(cluster, { restartKey: 'again' });
    await Promise.all([meanwhile(deleted), until(cluster, 'ConfigurationApplied', { withinMs: ROLLED_WITHIN_MS })]);
    await cluster.untilReady(PODS, before);
  });
  await step('until the cluster is stable', () => until(cluster, 'Stable'));
  await clients.untilMore(SOME);
  over.abort();
  if (deleted.size !== PODS.length) throw new Error(`${deleted.size} pods were deleted, not ${PODS.length}`);
}

/** Kills one operator after the other, without a grace period. */
async function killOperators(cluster: Cluster): Promise<void> {
  for (const afterMs of KILLED_AFTER_MS) {
    const acting = await actingOperator(cluster);
    await delay(afterMs);
    const options = [`--namespace=${OPERATOR_NAMESPACE}`, '--force', '--grace-period=0'];
    await cluster.kubectl('delete', 'pod', acting, ...options);
  }
}

/** Waits until an existing pod of the operator has the Lease, and resolves to its name. */
async function actingOperator({ api }: Cluster): Promise<string> {
  let acting = '';
  await eventually('an operator to have the Lease', async () => {
    acting = (await api.get<Lease>(LEASE)).spec.holderIdentity ?? '';
    return isReady(await api.get<Pod>(`${OPERATOR_PODS}/${acting}`));
  });
  return acting;
}

type KubeEvent = Resource & {
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
};

/** The operators that changed the cluster, in the order of their changes. One may be listed twice. */
async function actorsOf({ api }: Cluster): Promise<readonly string[]> {
  const { items } = await api.list<KubeEvent>('/apis/events.k8s.io/v1/namespaces/default/events');
  const actors = items
    .filter(({ reportingController }) => reportingController === 'cairn.dev/clusters')
    .toSorted((one, other) => (one.eventTime < other.eventTime ? -1 : 1))
    .map(({ reportingInstance }) => reportingInstance);
  return actors.filter((actor, at) => actor !== actors[at - 1]);
}

/** Collects the uids of the pods of the cluster that are deleted from now on. */
async function countDeletions({ api }: Cluster, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const path = '/api/v1/namespaces/default/pods';
  const { version } = await api.list(path, { signal });
  const deleted = new Set<string>();
  const follow = async (): Promise<void> => {
    for await (const message of api.watch<Pod>(path, version, signal)) {
      if (message.type !== 'DELETED') continue;
      const { name, uid } = message.object.metadata;
      if (PODS.includes(name)) deleted.add(uid);
    }
  };
  void follow().catch((error: unknown) => {
    if (!signal.aborted) process.stderr.write(`${String(error)}\n`);
  });
  return deleted;
}

/** Drops all packets from the operator to the API server for a while, in which the spec changes. */
async function cutOff({ cluster, step }: ScenarioRun): Promise<void> {
  const acting = await actingOperator(cluster);
  const { status } = await cluster.api.get<Pod>(`${OPERATOR_PODS}/${acting}`);
  const before = await cluster.uidsOf(PODS);
  await run('nft', 'add', 'table', 'ip', 'faults');
  await run('nft', 'add', 'chain', 'ip', 'faults', 'away', '{ type filter hook input priority -10; }');
  const packets = ['ip', 'saddr', status.podIP ?? '', 'tcp', 'dport', '6443'];
  await run('nft', 'add', 'rule', 'ip', 'faults', 'away', ...packets, 'drop');
  await step('the API server is away', async () => {
    await changeCluster(cluster, { restartKey: 'meanwhile' });
    await delay(AWAY_MS);
  });
  await expectKept(cluster, before);
  await run('nft', 'delete', 'table', 'ip', 'faults');
  await step('until the cluster is stable', () => until(cluster, 'Stable'));
  await cluster.untilReady(PODS, before);
  const replaced = await cluster.uidsOf(PODS);
  await delay(QUIET_MS);
  await expectKept(cluster, replaced);
}
