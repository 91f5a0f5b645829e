/** Scenarios of a cluster that the operator runs: more and fewer nodes, learners, a lost node, and a full volume. */
import { setTimeout as delay } from 'node:timers/promises';
import { type CairnCluster, EVENT_DATABASE } from '../../../operator/src/api/index.ts';
import { type Cluster, eventually, isReady } from '../cluster.ts';
import type { Claim } from '../objects.ts';
import { run } from '../run.ts';
import { PODS } from './install.ts';
import { apply, changeCluster, describeCluster, expectKept, NAME, until } from './operator.ts';
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
  'operator-scales' | 'operator-learners' | 'operator-replaces-node' | 'operator-grows-volumes'
> = {
  'operator-scales': { spec: {}, act: growAndShrink },
  'operator-learners': { spec: { learners: 2 }, learnersLeft: 1, act: useLearners },
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

const LEARNERS = ['cairn-learners-0', 'cairn-learners-1'];
const [, LOST_LEARNER = ''] = LEARNERS;

/** Learners answer reads while one of them loses its volume and is removed, and a database gets more copies. */
async function useLearners({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const kept = await cluster.uidsOf(PODS);
  await cluster.untilReady(LEARNERS);
  await expectPlaced(cluster, { database: 'orders', copies: COPIES, learners: 2 });
  clients.readAtLearners([0, 1]);
  await step('reads at learners', () => clients.untilReadAtLearners(SOME));
  const database = (copies: number): Promise<void> =>
    apply(EVENT_DATABASE, 'shop', { clusterRef: { name: NAME }, copies });
  await step('a database with one copy', async () => {
    await database(1);
    await until(cluster, 'Ready', { kind: EVENT_DATABASE, name: 'shop' });
    await expectPlaced(cluster, { database: 'shop', copies: 1, learners: 2 });
  });
  await step('from one copy to 3', async () => {
    await database(COPIES);
    await expectPlaced(cluster, { database: 'shop', copies: COPIES, learners: 2 });
  });
  const before = await cluster.uidsOf([LOST_LEARNER]);
  await cluster.kubectl('delete', 'pvc', `data-${LOST_LEARNER}`, '--wait=false');
  await cluster.kubectl('delete', 'pod', LOST_LEARNER, '--wait=false');
  await step('until the learner that lost its volume is replaced', async () => {
    await cluster.untilReady([LOST_LEARNER], before);
    await expectPlaced(cluster, { database: 'orders', copies: COPIES, learners: 2 });
    await until(cluster, 'Stable');
  });
  await step('from 2 to 1 learner', async () => {
    await changeCluster(cluster, { learners: 1 });
    await until(cluster, 'Stable', { isSo: ({ learners }) => learners === 1 });
  });
  await expectPlaced(cluster, { database: 'orders', copies: COPIES, learners: 1 });
  await step('reads at the learner that is left', () => clients.untilReadAtLearners(SOME));
  await expectKept(cluster, kept);
}

/** Waits until a database has replicas that have caught up on this many voters and learners, and no node is silent. */
function expectPlaced(
  cluster: Cluster,
  wanted: { readonly database: string; readonly copies: number; readonly learners: number },
): Promise<void> {
  return eventually(`${wanted.copies} copies and ${wanted.learners} learners of ${wanted.database}`, async () => {
    const { nodes, databases } = await describeCluster(cluster);
    const present = nodes.filter(({ state }) => state !== 'removed');
    const learners = new Set(present.filter(({ isLearner }) => isLearner).map(({ id }) => id));
    const { members = [] } = databases.find(({ name }) => name === wanted.database) ?? {};
    const held = members.filter(({ node }) => learners.has(node)).length;
    if (held !== wanted.learners || members.length - held !== wanted.copies || learners.size !== wanted.learners)
      throw new Error(`it is on ${JSON.stringify(members)}, with the learners ${[...learners].join()}`);
    return members.every(({ isCaughtUp }) => isCaughtUp) && present.every(({ answers }) => answers);
  });
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
