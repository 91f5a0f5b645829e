/** Scenarios with more and fewer nodes, a lost node, and a full volume, in a cluster that the operator runs. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CairnCluster } from '../../../operator/src/api/index.ts';
import { type Cluster, eventually, isReady } from '../cluster.ts';
import type { Claim } from '../objects.ts';
import { run } from '../run.ts';
import { PODS } from './install.ts';
import { changeCluster, describeCluster, expectKept, NAME, until } from './operator.ts';
import { leaderOf, type ScenarioRun, type Scenarios, SOME } from './scenario.ts';
import { makeSmallDisk, type SmallDisk } from './small-disk.ts';

const COPIES = 3;
const POLL_MS = 500;
const REPAIR_SECONDS = 60;
/** Time within which the operator replaces a node that counts as lost. */
const REPLACED_WITHIN_MS = (REPAIR_SECONDS + 60) * 1000;
const LOST_ANNOTATION = 'cairn.dev/lost-since';

/** The next size after that of SMALL_STORAGE, in whole GiB. */
const GROWN_SIZE = '1Gi';
const SMALL_STORAGE = { size: '512Mi', autoGrow: { maxSize: '2Gi', thresholdPercent: 80 } };
const CLAIM_LABELS = {
  'app.kubernetes.io/name': 'cairn',
  'app.kubernetes.io/instance': NAME,
  'app.kubernetes.io/component': 'node',
};

let smallDisk: SmallDisk | undefined;

export const OPERATOR_NODE_SCENARIOS: Scenarios<
  'operator-scales' | 'operator-replaces-node' | 'operator-grows-volumes'
> = {
  'operator-scales': { spec: {}, act: growAndShrink },
  // The lost Kubernetes node may run an operator, too.
  'operator-replaces-node': {
    spec: { repair: { afterSeconds: REPAIR_SECONDS } },
    operatorValues: ['replicas=2'],
    act: loseKubeNode,
  },
  'operator-grows-volumes': {
    spec: { storage: SMALL_STORAGE, config: { walSegmentBytes: '4MiB', storeWriteBufferBytes: '4MiB' } },
    prepare: async (cluster) => {
      const { size: storage } = SMALL_STORAGE;
      smallDisk = await makeSmallDisk(cluster, { name: 'data-cairn-0', node: 'node-1', storage, labels: CLAIM_LABELS });
    },
    act: fillVolume,
  },
};

/** Adds and removes nodes. No database may have fewer replicas than its copies at any moment. */
async function growAndShrink({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const kept = await cluster.uidsOf(PODS);
  const over = new AbortController();
  const fewest = followCopies(cluster, over.signal);
  for (const replicas of [5, 3]) {
    await step(`to ${replicas} nodes`, async () => {
      await changeCluster(cluster, { replicas });
      await until(cluster, 'Stable');
    });
    await clients.untilMore(SOME);
    await eventually(`${replicas} voters`, async () => {
      const { nodes } = await describeCluster(cluster);
      const present = nodes.filter(({ state }) => state !== 'removed');
      return present.length === replicas && present.every(({ role }) => role === 'voter');
    });
  }
  over.abort();
  const copies = await fewest;
  if (copies < COPIES) throw new Error(`a database had ${copies} replicas for a while`);
  await expectKept(cluster, kept);
}

/** Resolves to the lowest number of replicas of any database until `signal` is aborted. */
async function followCopies(cluster: Cluster, signal: AbortSignal): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (; !signal.aborted; await delay(POLL_MS)) {
    const description = await describeCluster(cluster).catch(() => undefined);
    if (description?.isConfirmed !== true) continue;
    fewest = Math.min(fewest, ...description.databases.map(({ nodes }) => nodes.length));
  }
  return fewest;
}

async function loseKubeNode({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const pod = leaderOf(clients);
  const before = await cluster.uidsOf([pod]);
  const { spec } = await cluster.pod(pod);
  const lost = spec.nodeName ?? '';
  await cluster.kubectl('label', 'node', lost, 'power=off');
  await step('write without it', () => clients.untilMore(SOME));
  const claim = `/api/v1/namespaces/default/persistentvolumeclaims/data-${pod}`;
  await step('until the node counts as lost', () =>
    eventually(
      'the claim to be marked',
      async () => (await cluster.api.get<Claim>(claim)).metadata.annotations?.[LOST_ANNOTATION] !== undefined,
    ),
  );
  await step(`until it is replaced, which waits for ${REPAIR_SECONDS} s`, () =>
    eventually(
      `${pod} to be another pod, elsewhere`,
      async () => {
        const now = await cluster.pod(pod);
        return isReady(now) && now.spec.nodeName !== lost && !before.has(now.metadata.uid);
      },
      REPLACED_WITHIN_MS,
    ),
  );
  await step('until the cluster is stable', () => until(cluster, 'Stable'));
  const { nodes } = await describeCluster(cluster);
  const members = nodes.filter(({ state, answers }) => state === 'active' && answers);
  const others = nodes.filter(({ state }) => state !== 'removed').length - members.length;
  if (members.length !== PODS.length || others > 0) throw new Error(`the nodes are ${JSON.stringify(nodes)}`);
}

/**
 * Fills the volume of a node to its last byte, and kills the node, which may then have no space to start. The volumes
 * grow once, and the node accepts writes again without a further step.
 */
async function fillVolume({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const kept = await cluster.uidsOf(PODS);
  await smallDisk?.fill(0);
  const containers = (await run('runc', 'list', '--quiet')).split('\n');
  // A node that writes at this moment finds the disk full, and has ended by itself.
  await run('runc', 'kill', containers.find((id) => id.startsWith('cairn-0-')) ?? '', 'KILL').catch(() => undefined);
  // The status has this size only after the growth, so its conditions are of that time.
  const isGrown = ({ storageSize }: NonNullable<CairnCluster['status']>): boolean => storageSize === GROWN_SIZE;
  await step('until the volumes have grown', () => until(cluster, 'StorageHealthy', { isSo: isGrown }));
  await step('until the cluster is stable', () => until(cluster, 'Stable'));
  await clients.untilMore(SOME);
  await until(cluster, 'StorageHealthy', { isSo: isGrown });
  await expectKept(cluster, kept);
}
