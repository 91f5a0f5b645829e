/**
 * Measures the memory and CPU time of a node, for the table "Size" of docs/operations/kubernetes.md.
 *
 *   npm run build && node --conditions=source bench/sizing.ts [--databases 1000] [--seconds 30] [--components 4]
 *
 * Three nodes run in separate processes on loopback, each with a replica of every database, idle and under load.
 * Figures are means over the nodes, or over one kind of them. Each row after the first one has the additional
 * resources. Memory is the resident memory of the node, plus the private memory of its processes for components. The
 * components are copies of the TypeScript example of bank balances, each with different bytes. Writers run in a closed
 * loop on the machine of the nodes, so rows of writes show CPU time per event, not the maximum rate. Run it on an
 * otherwise idle machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readNumber, readOptions } from '../scripts/support/command-line.ts';
import { builtComponent } from '../test/support/wasm/built.ts';
import { appendRequests, CREATE_DATABASE, TRANSACT } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { closedLoop } from './support/closed-loop.ts';
import { grpcHeaders } from './support/http2-connection.ts';
import { cpuSeconds, processTree, residentMemory } from './support/process-cpu.ts';
import { bytesField } from './support/protobuf.ts';
import { COUNTER_MARKER, RequestTemplate } from './support/request-template.ts';

const NODES = 3;
const CREATORS = 32;
const SETTLE_MS = 10_000;
const EVENT_BYTES = 256;
const MEBIBYTE = 2 ** 20;
const DATABASE = 'sizing';
/** Events per transaction, and closed-loop clients. */
const WRITES = [
  { events: 1, clients: 256 },
  { events: 100, clients: 16 },
];
const PER = { databases: 1000, events: 10_000 };

/** Resources of one node: resident bytes, and the mean number of busy processors. */
interface Use {
  readonly bytes: number;
  readonly processors: number;
}

const options = readOptions({ databases: '1000', seconds: '30', components: '4' });
const databases = readNumber('databases', options.databases, { min: 1, isWhole: true });
const seconds = readNumber('seconds', options.seconds, { min: 1, isWhole: false });
const components = readNumber('components', options.components, { min: 2, isWhole: true });

const dir = mkdtempSync(join(tmpdir(), 'cairn-sizing-'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    // The nodes end with this process.
    rmSync(dir, { recursive: true, force: true });
    process.exit(1);
  });
}
const cluster = await CairnCluster.start(dir, NODES);
try {
  process.stdout.write('| what | memory of a node | processors of a node |\n|---|---|---|\n');
  const empty = mean(await atRest());
  row('a node without databases', empty);
  await forDatabases(empty);
  await cluster.createDatabase(DATABASE);
  for (const writes of WRITES) await forWrites(writes);
  await forComponents();
  process.stdout.write(
    `\n${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; load average ${loadavg()[0]?.toFixed(1)}.\n`,
  );
} finally {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function forDatabases(empty: Use): Promise<void> {
  const template = new RequestTemplate(bytesField(1, `idle-${COUNTER_MARKER}`), {
    firstCounter: 0,
    markersPerNumber: 1,
  });
  await load(CREATE_DATABASE, () => template.next(), { calls: databases, clients: CREATORS });
  const full = mean(await atRest());
  row('each 1,000 idle databases', scaled(difference(full, empty), PER.databases / databases));
}

async function forWrites({ events, clients }: (typeof WRITES)[number]): Promise<void> {
  const shape = { database: DATABASE, events, eventBytes: EVENT_BYTES, conditional: false };
  const template = appendRequests(shape, events * 100_000_000);
  const leader = await cluster.leaderOf(DATABASE);
  const before = await atRest();
  let perSecond = 0;
  const busy = await during(async () => {
    const { calls, failed, seconds: took } = await load(TRANSACT, () => template.next(), { at: leader, clients });
    perSecond = ((calls - failed) * events) / took;
  });
  const cost = busy.map((use, at) => {
    const more = difference(use, before[at] ?? { bytes: 0, processors: 0 });
    return { ...more, processors: (more.processors * PER.events) / perSecond };
  });
  const isLeader = (at: number): boolean => cluster.names[at] === leader;
  const what = `10,000 events a second in transactions of ${events}`;
  row(`${what}: the leader`, mean(cost.filter((_, at) => isLeader(at))), `at ${perSecond.toFixed(0)} a second`);
  row(`${what}: a follower`, mean(cost.filter((_, at) => !isLeader(at))));
}

async function forComponents(): Promise<void> {
  const built = await builtComponent('examples/bank/balances.ts');
  const before = mean(await atRest());
  await publish(0, built);
  const first = mean(await atRest());
  for (let number = 1; number < components; number++) await publish(number, built);
  const all = mean(await atRest());
  row('the first State View, with its processes', difference(first, before));
  row('each further State View', scaled(difference(all, first), 1 / (components - 1)));
}

/** Publishes a State View and reads it on every node. */
async function publish(number: number, component: Uint8Array): Promise<void> {
  const form = new FormData();
  const name = `view-${number}`;
  const metadata = { state_view_name: name, content_type: 'application/json', query_temporality: 'revision' };
  form.append('metadata', JSON.stringify({ ...metadata, event_selector: { stream: 'accounts' } }));
  // A custom section with a name of one byte makes it another component.
  form.append('wasm', new Blob([new Uint8Array(component), Uint8Array.of(0, 3, 1, 120, number)]));
  const [first = ''] = cluster.names;
  await ok(`${cluster.node(first).http}/api/v1/db/${DATABASE}/state-views`, { method: 'POST', body: form });
  for (const node of cluster.names) await ok(`${cluster.node(node).http}/databases/${DATABASE}/state-views/${name}`);
}

async function ok(url: string, init: RequestInit = {}): Promise<void> {
  const reply = await fetch(url, init);
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${text}`);
}

interface LoadShape {
  /** Name of the node that gets the requests; default the first one. */
  readonly at?: string;
  readonly calls?: number;
  readonly clients: number;
}

function load(method: string, request: () => Buffer, { at, ...shape }: LoadShape): ReturnType<typeof closedLoop> {
  const { address } = cluster.node(at ?? cluster.names[0] ?? '');
  return closedLoop({ address, headers: grpcHeaders(method), seconds, request, ...shape });
}

async function atRest(): Promise<readonly Use[]> {
  await delay(SETTLE_MS);
  return during(() => delay(seconds * 1000));
}

/** Memory after the work, and the mean number of busy processors during it. */
async function during(work: () => Promise<unknown>): Promise<readonly Use[]> {
  const used = (): readonly number[] => cluster.pids.map((pid) => cpuSeconds(processTree(pid)));
  const before = used();
  const began = performance.now();
  await work();
  const after = used();
  const took = (performance.now() - began) / 1000;
  return cluster.pids.map((pid, at) => ({
    bytes: memoryOf(pid),
    processors: ((after[at] ?? 0) - (before[at] ?? 0)) / took,
  }));
}

/** Memory of a node with its child processes; the program and its libraries, which they share, count once. */
function memoryOf(pid: number): number {
  const [, ...children] = processTree(pid);
  return residentMemory(pid).total + sum(children.map((child) => residentMemory(child).anonymous));
}

function row(what: string, { bytes, processors }: Use, note = ''): void {
  const cells = [what, `${(bytes / MEBIBYTE).toFixed(0)} MiB`, `${processors.toFixed(2)}${note && ` (${note})`}`];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

function mean(uses: readonly Use[]): Use {
  const total = { bytes: sum(uses.map(({ bytes }) => bytes)), processors: sum(uses.map((use) => use.processors)) };
  return scaled(total, 1 / uses.length);
}

function difference(one: Use, other: Use): Use {
  return { bytes: one.bytes - other.bytes, processors: one.processors - other.processors };
}

function scaled({ bytes, processors }: Use, by: number): Use {
  return { bytes: bytes * by, processors: processors * by };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
