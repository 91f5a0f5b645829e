/** Scenarios in which a cluster that the operator runs loses a quorum for good. */
import { CAIRN_CLUSTER, type CairnCluster } from '../../../operator/src/api/index.ts';
import { pathOf } from '../../../operator/src/kube/index.ts';
import { type Cluster, eventually } from '../cluster.ts';
import type { Claim } from '../objects.ts';
import { clusterStatus, PODS } from './install.ts';
import { changeCluster, describeCluster, NAME, until } from './operator.ts';
import { leaderOf, type ScenarioRun, type Scenarios } from './scenario.ts';

const LOST_SECONDS = 60;
/** A node counts as lost after LOST_SECONDS; then its pods end, and another one runs. */
const SHOWN_WITHIN_MS = (LOST_SECONDS + 180) * 1000;
const ID = 'two volumes lost';

const SPEC = {
  repair: { afterSeconds: LOST_SECONDS },
  update: { drainTimeoutSeconds: 10, stableSeconds: 1, finalizeAfterSeconds: 0 },
};

export const OPERATOR_LOSS_SCENARIOS: Scenarios<'operator-recovers-catalog' | 'operator-recovers-database'> = {
  'operator-recovers-catalog': { spec: SPEC, act: loseMajority },
  'operator-recovers-database': { spec: SPEC, replicas: 5, act: loseHolders },
};

/** Two of three nodes are lost with their claims. The cluster continues with the third after the loss is accepted. */
async function loseMajority({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const survivor = leaderOf(clients);
  const others = PODS.filter((pod) => pod !== survivor);
  const [kept, ...lost] = await Promise.all([survivor, ...others].map((pod) => claimOf(cluster, pod)));
  await cluster.kubectl('delete', 'pvc', ...others.map((pod) => `data-${pod}`), '--wait=false');
  // An id that is set while nothing is lost counts as carried out, so both pods must have ended. Before that, a node
  // that drains can leave the catalog without a leader for a moment.
  await cluster.kubectl('delete', 'pod', ...others, '--grace-period=1');
  await step('until the loss is noticed', () =>
    eventually('no quorum', async () => (await conditionOf(cluster, 'QuorumHealthy')).status === 'False'),
  );
  const recovery = { id: ID, survivor, acknowledgeDataLoss: true };
  await changeCluster(cluster, { recovery });
  let acceptLoss = '';
  await step(`until the loss is shown, which waits for ${LOST_SECONDS} s`, () =>
    eventually(
      'the code of the loss',
      async () => {
        const { message } = await conditionOf(cluster, 'Progressing');
        acceptLoss = /acceptLoss to "(\w+)"/.exec(message)?.[1] ?? '';
        if (acceptLoss === '') throw new Error(message);
        return true;
      },
      SHOWN_WITHIN_MS,
    ),
  );
  const shown = await cluster.kubectl('logs', `${NAME}-recovery`);
  const [, revision = ''] = /orders \([^)]*\)\n +revision (\d+) of /.exec(shown) ?? [];
  if (revision === '' || !shown.includes(acceptLoss)) throw new Error(`this does not show the loss:\n${shown}`);
  if ((await claimOf(cluster, survivor)) !== kept) throw new Error('the claim of the survivor was deleted');
  await step('until the cluster is stable', async () => {
    await changeCluster(cluster, { recovery: { ...recovery, acceptLoss } });
    await until(cluster, 'Stable', { isSo: ({ recoveryID }) => recoveryID === ID });
  });
  await cluster.untilReady(PODS);
  const claims = await Promise.all([survivor, ...others].map((pod) => claimOf(cluster, pod)));
  if (claims[0] !== kept || lost.some((uid) => claims.includes(uid)))
    throw new Error(`the claims are ${claims.join()}`);
  await clients.untilMore(1);
  clients.noteRecovery(Number(revision));
}

/**
 * Two of five nodes are lost with their claims, and had replicas of the database: the catalog has a quorum, and the
 * database has none. It continues with the third replica after the loss is accepted, and not before.
 */
async function loseHolders({ cluster, clients, step }: ScenarioRun): Promise<void> {
  await eventually('five voters', async () => {
    const { nodes } = await describeCluster(cluster);
    return nodes.filter(({ role }) => role === 'voter').length === 5;
  });
  const { nodes, databases } = await describeCluster(cluster);
  const [holders = []] = databases.map((database) => database.nodes);
  const [survivor, ...others] = nodes.filter(({ id }) => holders.includes(id)).map(({ name }) => name);
  if (survivor === undefined || others.length !== 2) throw new Error(`the database is on ${holders.join()}`);
  await cluster.kubectl('delete', 'pvc', ...others.map((pod) => `data-${pod}`), '--wait=false');
  await cluster.kubectl('delete', 'pod', ...others, '--grace-period=1');
  await step('until the loss is noticed', () =>
    eventually('no leader', async () => {
      const { message } = await conditionOf(cluster, 'QuorumHealthy');
      return message.includes('these databases have no leader');
    }),
  );
  await step('until the cluster is stable', async () => {
    await changeCluster(cluster, { recovery: { id: ID, survivor, acknowledgeDataLoss: true } });
    await until(cluster, 'Stable', { isSo: ({ recoveryID }) => recoveryID === ID });
  });
  const { databases: recovered } = await clusterStatus(cluster, survivor);
  const revision = recovered[0]?.recovery?.revision;
  if (revision === undefined) throw new Error('the database was not recovered');
  await clients.untilMore(1);
  clients.noteRecovery(revision);
}

/** The uid of the claim of a pod. */
async function claimOf({ api }: Cluster, pod: string): Promise<string> {
  const { metadata } = await api.get<Claim>(`/api/v1/namespaces/default/persistentvolumeclaims/data-${pod}`);
  return metadata.uid;
}

async function conditionOf(
  { api }: Cluster,
  wanted: string,
): Promise<{ readonly status: string; readonly message: string }> {
  const { status } = await api.get<CairnCluster>(pathOf(CAIRN_CLUSTER, { namespace: 'default', name: NAME }));
  return status?.conditions?.find(({ type }) => type === wanted) ?? { status: 'Unknown', message: 'no condition' };
}
