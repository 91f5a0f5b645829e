/**
 * A scenario with a State View in three databases whose next version traps: the operator rolls it back in its canary
 * database.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { EVENT_DATABASE, STATE_VIEW } from '../../../operator/src/api/index.ts';
import { viewText, wat } from '../../support/wasm/wat.ts';
import { type Cluster, eventually } from '../cluster.ts';
import { feed } from '../run.ts';
import { firstKey, SERVICE_HOST } from './install.ts';
import { apply, NAME, until } from './operator.ts';
import type { ScenarioRun } from './scenario.ts';

const VIEW = 'last';
const CANARY = 'canary';
const DATABASES = [CANARY, 'second', 'third'];
const READ_MS = 100;
const CANARY_ROLLOUT = {
  strategy: 'Canary',
  steps: [{ selector: { matchLabels: { stage: CANARY } }, observeSeconds: 5 }],
  analysis: { maxTraps: 0 },
};
const URL = `https://${SERVICE_HOST}:3000`;
/** Paths of readers of the first version. That of the canary database names the version. */
const PATHS = [
  `/api/v1/databases/${CANARY}/state-views/${VIEW}/versions/1`,
  ...DATABASES.slice(1).map((database) => `/databases/${database}/state-views/${VIEW}`),
];

export async function rollBackCanary({ cluster, step }: ScenarioRun): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-api-key': await firstKey(cluster) };
  const component = async (source: string): Promise<void> => {
    const binaryData = { 'component.wasm': Buffer.from(await wat(viewText(evolveOf(source)))).toString('base64') };
    await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: source }, binaryData });
    await apply(STATE_VIEW, VIEW, specOf(source));
  };
  await step('a component in three databases', async () => {
    for (const name of DATABASES) {
      const { apiVersion, kind } = EVENT_DATABASE;
      const metadata = { name, labels: { stage: name === CANARY ? CANARY : 'rest' } };
      await create({ apiVersion, kind, metadata, spec: { clusterRef: { name: NAME } } });
    }
    for (const name of DATABASES) await until(cluster, 'Ready', { kind: EVENT_DATABASE, name });
    await component('good');
    await until(cluster, 'Ready', { kind: STATE_VIEW, name: VIEW });
  });
  const event = { specversion: '1.0', id: '1', source: '/drills', type: 'written', subject: 'one' };
  for (const name of DATABASES) {
    const body = JSON.stringify({ events: [event] });
    const written = await fetch(`${URL}/api/v1/db/${name}`, { method: 'POST', headers, body });
    if (!written.ok) throw new Error(await written.text());
  }
  const over = new AbortController();
  const failures: string[] = [];
  const read = async (path: string, isExpected: boolean): Promise<void> => {
    for (; !over.signal.aborted; await delay(READ_MS)) {
      const reply = await fetch(`${URL}${path}`, { headers });
      const text = await reply.text();
      if (!reply.ok && isExpected) failures.push(`${path}: ${reply.status} ${text}`);
    }
  };
  const readers = [...PATHS.map((path) => read(path, true)), read(`/databases/${CANARY}/state-views/${VIEW}`, false)];
  await step('until the bad version is rolled back', async () => {
    await component('bad');
    await untilRolledBack(cluster);
  });
  over.abort();
  await Promise.all(readers);
  if (failures.length > 0) throw new Error(`${failures.length} reads failed, such as ${failures[0]}`);
  for (const name of DATABASES) {
    const reply = await fetch(`${URL}/databases/${name}/state-views/${VIEW}`, { headers });
    if (!reply.ok) throw new Error(`${name} is not read: ${await reply.text()}`);
  }
}

function evolveOf(source: string): { readonly evolve?: string } {
  return source === 'bad' ? { evolve: 'unreachable' } : {};
}

function specOf(source: string): object {
  return {
    databases: { selector: {} },
    source: { configMap: { name: source, key: 'component.wasm' } },
    contentType: 'application/json',
    eventTypes: ['written'],
    ...(source === 'bad' && { rollout: CANARY_ROLLOUT }),
  };
}

async function untilRolledBack({ api }: Cluster): Promise<void> {
  const path = `/apis/cairn.dev/v1alpha1/namespaces/default/stateviews/${VIEW}`;
  interface View {
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly reason: string }[] };
  }
  let last = '';
  const isRolledBack = async (): Promise<boolean> => {
    const { status } = await api.get<View>(path);
    last = JSON.stringify(status);
    return status?.conditions?.some(({ reason }) => reason === 'RolledBack') === true;
  };
  await eventually('the StateView to be rolled back', isRolledBack).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${last}`);
  });
}

async function create(object: object): Promise<void> {
  await feed(JSON.stringify(object), 'kubectl', 'create', '--filename=-');
}
