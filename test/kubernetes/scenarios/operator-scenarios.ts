/** Scenarios of a cluster that the operator runs: used, repaired, scaled down, upgraded, with components, and idle. */
import { EVENT_ACCESS, EVENT_DATABASE } from '../../../operator/src/api/index.ts';
import { type Secret, textIn } from '../../../operator/src/kube/index.ts';
import type { Cluster } from '../cluster.ts';
import { rollBackCanary } from './canary.ts';
import { idle } from './idle.ts';
import { clusterStatus, PODS, SERVICE_HOST } from './install.ts';
import { apply, changeCluster, expectKept, NAME, until } from './operator.ts';
import { LATER, leaderOf, type ScenarioRun, type Scenarios, SOME } from './scenario.ts';

export const OPERATOR_SCENARIOS: Scenarios<'operated' | 'operator-upgrades' | 'operator-rolls-back' | 'operator-idle'> =
  {
    operated: { spec: {}, replicasLeft: 1, act: useAndRepair },
    'operator-upgrades': { spec: {}, act: upgrade },
    'operator-rolls-back': { spec: {}, act: rollBackCanary },
    'operator-idle': { spec: {}, act: idle },
  };

async function useAndRepair({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const leader = leaderOf(clients);
  const before = await cluster.uidsOf([leader]);
  await cluster.kubectl('delete', 'pod', leader, '--wait=false');
  await step('a database with a key, while a pod is replaced', async () => {
    await apply(EVENT_DATABASE, 'shop', { clusterRef: { name: NAME } });
    const grants = [{ role: 'writer', databases: { names: ['shop'] } }];
    await apply(EVENT_ACCESS, 'orders', { clusterRef: { name: NAME }, grants, secret: { name: 'orders-key' } });
    await until(cluster, 'Ready', { kind: EVENT_DATABASE, name: 'shop' });
    await until(cluster, 'Ready', { kind: EVENT_ACCESS, name: 'orders' });
  });
  await step('until the deleted pod is ready again', () => cluster.untilReady([leader], before));
  await step('an event, written and read with the key', () => writeAndRead(cluster));
  const [first = ''] = PODS;
  const kept = await cluster.uidsOf([first]);
  await step('from 3 to 1', async () => {
    await changeCluster(cluster, { replicas: 1 });
    await until(cluster, 'Stable');
  });
  await expectKept(cluster, kept);
}

async function writeAndRead({ api }: Cluster): Promise<void> {
  const key = textIn(await api.get<Secret>('/api/v1/namespaces/default/secrets/orders-key'), 'api-key') ?? '';
  const headers = { 'content-type': 'application/json', accept: 'application/json', 'x-api-key': key };
  const url = `https://${SERVICE_HOST}:3000`;
  const event = { specversion: '1.0', id: '1', source: '/orders', type: 'order-placed', subject: 'order-1' };
  const body = JSON.stringify({ events: [event] });
  const written = await fetch(`${url}/api/v1/db/shop`, { method: 'POST', headers, body });
  if (!written.ok) throw new Error(await written.text());
  const read = await (await fetch(`${url}/databases/shop/events`, { headers })).text();
  if (!read.includes('order-1')) throw new Error(`the event is not there: ${read}`);
}

/** Upgrades to the later release, one feature level up, and makes the upgrade final. */
async function upgrade({ cluster, clients, step }: ScenarioRun): Promise<void> {
  const before = await cluster.uidsOf(PODS);
  const { level } = await clusterStatus(cluster, 'cairn-0');
  await clients.untilMore(SOME);
  await step('rolling upgrade', async () => {
    await changeCluster(cluster, { version: LATER });
    await until(cluster, 'Stable');
  });
  await cluster.untilReady(PODS, before);
  const { level: raised } = await clusterStatus(cluster, 'cairn-0');
  if (raised !== level + 1) throw new Error(`the cluster is at level ${raised}, not ${level + 1}`);
}
