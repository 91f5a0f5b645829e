/** Scenarios of a cluster's life: more and fewer nodes, a lost volume, an upgrade and a rollback. */
import { type Cluster, eventually } from '../cluster.ts';
import { clusterStatus, PODS } from './install.ts';
import { LATER, leaderOf, type ScenarioRun, type Scenarios, SOME } from './scenario.ts';

const FIRST = 'cairn-0';
/** A replica with at most this lag lacks only what is being written. */
const LAG_MAX = 100;

export const LIFE_SCENARIOS: Scenarios<'one-replica' | 'volume-lost' | 'upgraded-and-back'> = {
  'one-replica': { replicas: 1, act: restartGrowAndShrink },
  'volume-lost': { act: loseVolume },
  'upgraded-and-back': { act: upgradeAndGoBack },
};

async function restartGrowAndShrink({ cluster, clients, install, step }: ScenarioRun): Promise<void> {
  const restart = async (change: () => Promise<unknown>): Promise<void> => {
    const before = await cluster.uidsOf([FIRST]);
    await change();
    await cluster.untilReady([FIRST], before);
    await clients.untilMore(SOME);
  };
  const values = ['podAnnotations.restarted=yes'];
  await step('restart by helm upgrade', () => restart(() => install(...values)));
  await step('delete the pod', () => restart(() => cluster.kubectl('delete', 'pod', FIRST, '--wait=false')));
  const kept = await cluster.uidsOf([FIRST]);
  await step('from 1 to 3', async () => {
    await install(...values, 'replicas=3');
    await cluster.untilReady(PODS);
    await untilCopies(cluster, PODS.length);
  });
  await clients.untilMore(SOME);
  await step('from 3 to 1', async () => {
    // In the order of docs/operations/kubernetes.md: decommission from the highest ordinal down, then scale the pods.
    for (const pod of PODS.slice(1).toReversed()) await decommission(cluster, await nodeOf(cluster, pod));
    await install(...values);
    await cluster.kubectl('wait', '--for=delete', 'pod/cairn-1', 'pod/cairn-2', '--timeout=120s');
    await cluster.kubectl('delete', 'pvc', 'data-cairn-1', 'data-cairn-2');
  });
  const now = await cluster.uidsOf([FIRST]);
  if (![...kept].every((uid) => now.has(uid))) throw new Error(`${FIRST} restarted with the number of replicas`);
}

/** Loses a volume without `cluster replace`: the node that joins in its place gets replicas and votes automatically. */
async function loseVolume({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const pod = leaderOf(clients);
  const witness = PODS.find((name) => name !== pod) ?? FIRST;
  const lost = await nodeOf(cluster, pod);
  const before = await cluster.uidsOf([pod]);
  await cluster.kubectl('delete', 'persistentvolumeclaim', `data-${pod}`, '--wait=false');
  await cluster.kubectl('delete', 'pod', pod, '--wait=false');
  await step('until a node without data has joined', () => cluster.untilReady([pod], before));
  await step('until it has the copies and votes of the lost one', async () => {
    await untilCopies(cluster, PODS.length, witness);
    await eventually('the lost node to have no vote', async () => {
      const { nodes } = await clusterStatus(cluster, witness);
      const voters = nodes.filter(({ catalogRole }) => catalogRole === 'voter').map(({ node }) => node);
      return voters.length === PODS.length && !voters.includes(lost);
    });
  });
  const found = (await clusterStatus(cluster, witness)).nodes.find(({ node }) => node === lost);
  if (found?.state !== 'active' || found.answers) throw new Error(`node ${lost} is ${JSON.stringify(found)}`);
  await step('take the lost one out', () => decommission(cluster, lost, witness));
}

async function upgradeAndGoBack({ cluster, clients, install, step }: ScenarioRun): Promise<void> {
  const [repository = ''] = cluster.image.split(':');
  const later = `${repository}:${LATER}`;
  const upgrade = (): Promise<unknown> => install(`image.tag=${LATER}`);
  const goBack = (): Promise<unknown> => cluster.helm('rollback', 'cairn');
  const rollTo = async (image: string, change: () => Promise<unknown>): Promise<void> => {
    await change();
    await untilRolled(cluster);
    const pods = await Promise.all(PODS.map((name) => cluster.pod(name)));
    const wrong = pods.find(({ spec }) => spec.containers[0]?.image !== image);
    if (wrong !== undefined) throw new Error(`${wrong.metadata.name} does not run ${image}`);
    await clients.untilMore(SOME);
  };
  const { level } = await clusterStatus(cluster, FIRST);
  await step('upgrade', () => rollTo(later, upgrade));
  await step('go back', () => rollTo(cluster.image, goBack));
  await step('upgrade again', () => rollTo(later, upgrade));
  await expectLevel(cluster, level);
  await step('finalize', () => cluster.execute(FIRST, 'cairn', 'cluster', 'finalize'));
  await expectLevel(cluster, level + 1);
  await clients.untilMore(SOME);
  await step('be refused to go back', async () => {
    const last = PODS.at(-1) ?? FIRST;
    await goBack();
    await eventually(`${last} to say why it does not start`, async () => {
      const log = await cluster.kubectl('logs', last, '--tail=20');
      return log.includes('cannot-start') && log.includes(`The cluster is at level ${level + 1}, and this release`);
    });
    await clients.untilMore(SOME);
    // The StatefulSet replaces a pod of another revision, ready or not.
    await upgrade();
    await untilRolled(cluster);
  });
}

function untilRolled(cluster: Cluster): Promise<string> {
  return cluster.kubectl('rollout', 'status', 'statefulset/cairn', '--timeout=180s');
}

async function expectLevel(cluster: Cluster, expected: number): Promise<void> {
  const { level } = await clusterStatus(cluster, FIRST);
  if (level !== expected) throw new Error(`the cluster is at level ${level}, not ${expected}`);
}

/** The number of the node that runs in a pod. */
async function nodeOf(cluster: Cluster, pod: string): Promise<number> {
  const { nodes } = await clusterStatus(cluster, pod);
  const found = nodes.find(({ name, state, answers }) => name === pod && state === 'active' && answers);
  if (found === undefined) throw new Error(`no node of ${pod} answers`);
  return found.node;
}

async function decommission(cluster: Cluster, node: number, by = FIRST): Promise<void> {
  await cluster.execute(by, 'cairn', 'cluster', 'decommission', String(node), '--wait');
}

/** Waits until every database has this many up-to-date copies, all of them on nodes that answer. */
async function untilCopies(cluster: Cluster, count: number, asked = FIRST): Promise<void> {
  await eventually(`${count} copies of every database`, async () => {
    const { nodes, databases } = await clusterStatus(cluster, asked);
    const there = nodes.filter(({ answers }) => answers).map(({ node }) => node);
    return databases.every(
      ({ isSettled, members }) =>
        isSettled &&
        members.length === count &&
        members.every(({ node, lag }) => there.includes(node) && lag < LAG_MAX),
    );
  });
}
