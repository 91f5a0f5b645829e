/**
 * A scenario with many databases and components that do not change: measures the requests and the memory of the
 * operator.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { EVENT_DATABASE, STATE_VIEW } from '../../../operator/src/api/index.ts';
import { viewText, wat } from '../../support/wasm/wat.ts';
import type { Cluster } from '../cluster.ts';
import { feed, run } from '../run.ts';
import { NAME, OPERATOR_NAMESPACE, until } from './operator.ts';
import type { ScenarioRun } from './scenario.ts';

const DATABASES = 200;
const VIEWS = 50;
/** The operator observes each component once more after its last change, and the cluster after 30 s. */
const SETTLED_MS = 35_000;
const OBSERVED_MS = 60_000;
const REQUESTS_PER_SECOND_MAX = 1;
const MEMORY_BYTES_MAX = 200_000_000;
const SOURCE = { name: 'idle', key: 'component.wasm' };

export async function idle({ cluster, step }: ScenarioRun): Promise<void> {
  const names = Array.from({ length: DATABASES }, (_, place) => `idle-${place}`);
  await step(`${DATABASES} databases`, async () => {
    await create(names.map((name) => objectOf(EVENT_DATABASE, name, { clusterRef: { name: NAME } })));
    await allReady(cluster, EVENT_DATABASE.plural);
  });
  await step(`${VIEWS} components`, async () => {
    const binaryData = { [SOURCE.key]: Buffer.from(await wat(viewText())).toString('base64') };
    await create([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: SOURCE.name }, binaryData }]);
    await create(names.slice(0, VIEWS).map((name) => objectOf(STATE_VIEW, name, viewOf(name))));
    await allReady(cluster, STATE_VIEW.plural);
  });
  await until(cluster, 'Stable');
  await step('until the last passes are over', () => delay(SETTLED_MS));
  const before = await requestsOfPods(cluster);
  await step('observe', () => delay(OBSERVED_MS));
  const perSecond = ((await requestsOfPods(cluster)) - before) / (OBSERVED_MS / 1000);
  const bytes = await memoryOfOperator();
  process.stdout.write(`the operator: ${perSecond.toFixed(2)} requests per second, ${Math.round(bytes / 1e6)} MB\n`);
  if (perSecond > REQUESTS_PER_SECOND_MAX) throw new Error(`the operator sends ${perSecond} requests per second`);
  if (bytes > MEMORY_BYTES_MAX) throw new Error(`the operator has ${bytes} bytes of memory`);
}

function viewOf(database: string): object {
  return {
    databases: { names: [database] },
    source: { configMap: SOURCE },
    contentType: 'application/json',
    eventTypes: ['written'],
  };
}

function objectOf({ apiVersion, kind }: typeof EVENT_DATABASE, name: string, spec: object): object {
  return { apiVersion, kind, metadata: { name }, spec };
}

async function create(items: readonly object[]): Promise<void> {
  await feed(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), 'kubectl', 'create', '--filename=-');
}

async function allReady(cluster: Cluster, plural: string): Promise<void> {
  await cluster.kubectl('wait', plural, '--all', '--for=condition=Ready', '--timeout=5m');
}

/** Number of requests by service accounts. Only the operator uses one; all other callers are administrators. */
async function requestsOfPods(cluster: Cluster): Promise<number> {
  const metrics = await cluster.kubectl('get', '--raw', '/metrics');
  const counts = metrics.matchAll(
    /^apiserver_flowcontrol_dispatched_requests_total\{(?<labels>[^}]*)\} (?<count>\S+)$/gm,
  );
  return [...counts].reduce((sum, { groups }) => {
    const isExempt = groups?.['labels']?.includes('flow_schema="exempt"') === true;
    return isExempt ? sum : sum + Number(groups?.['count']);
  }, 0);
}

/** Resident memory of the operator process. */
async function memoryOfOperator(): Promise<number> {
  const [pid = ''] = (await run('pgrep', '--full', '--', `--pod-namespace=${OPERATOR_NAMESPACE}`)).trim().split('\n');
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await run('cat', `/proc/${pid}/status`)) ?? [];
  return Number(kilobytes) * 1024;
}
