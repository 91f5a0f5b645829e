/**
 * Measures the fold of stored events into a rendered State View, compared with the executor alone.
 *
 *   node --conditions=source bench/view-fold.ts [--events 1000000] [--turns 3] [--store DIR] [--beside TREE]
 *
 * It builds a database of events of about 200 bytes (100 per transaction) in LevelDB with the real state machine. With
 * --store it keeps the database in DIR, and uses one that is there already. These variants alternate: `view` renders at
 * the last revision without a snapshot, from LevelDB to the rendered bytes, with a compiled guest in one executor;
 * `read` creates the same batches and drops them; `texts` creates them in an earlier way, with an object per event and
 * its JSON as a string; `executor` folds batches that were created before the measurement. Then `near` renders 100
 * events after a snapshot. It prints medians of the wall time and of the CPU time of this process, the CPU time of
 * `texts` relative to `read`, and the longest and 99th percentile event-loop delay during `view`.
 *
 * With --beside, the work tree of another commit, `view` and `read` of both commits alternate in one run, so that other
 * load affects both, and it prints the ratios of their turns.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { encodeUtf8, NO_BYTES, type Sha256, toDatabaseId, toGroupId, toLogIndex, toTerm } from '#base';
import {
  ArtifactStore,
  BatchThread,
  CacheFolder,
  DEFAULT_STATE_VIEWS,
  FoldSnapshots,
  StateViews,
  type ViewRead,
} from '#components';
import { DatabaseMachine, type DatabaseSource } from '#database';
import { ALL, DATA_KIND, encodeEvent, eventToJson } from '#model';
import { queryEvents } from '#query';
import { type LevelStore, openLevelStore } from '#storage';
import { DEFAULT_EXECUTORS, DEFAULT_LIMITS, Executors, Publisher } from '#wasm';
import { FOLD_WASI } from '../src/components/batch-fold.ts';
import { type EventBatch, eventBatches } from '../src/components/event-batches.ts';
import { countingText } from '../test/support/wasm/counting.ts';
import { wat } from '../test/support/wasm/wat.ts';
import { encodeTransaction, numberedId } from './support/database-machine.ts';

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    turns: { type: 'string', default: '3' },
    store: { type: 'string' },
    beside: { type: 'string' },
  },
});
const [EVENTS, TURNS] = [Number(options.events), Number(options.turns)];
const [PER_TRANSACTION, PER_FLUSH, NEAR_EVENTS, NEAR_TURNS] = [100, 1_000, 100, 200];
const START_MS = 1_760_000_000_000;
const MEBIBYTE = 2 ** 20;
const NS_PER_MS = 1e6;

const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

const scratch = await mkdtemp(join(tmpdir(), 'cairn-view-fold-'));
const storeDirectory = options.store ?? join(scratch, 'store');
const store = await openLevelStore(storeDirectory, {
  cacheBytes: 64 * MEBIBYTE,
  writeBufferBytes: 32 * MEBIBYTE,
  maxFileBytes: 8 * MEBIBYTE,
  compression: false,
});
const source: DatabaseSource = { kv: store, group: toGroupId(1), sha256 };
await using executors = new Executors({ ...DEFAULT_EXECUTORS, count: 1 });
const beside = options.beside === undefined ? undefined : await treeIn(resolve(options.beside));
await using besideExecutors =
  beside === undefined ? undefined : new beside.Executors({ ...DEFAULT_EXECUTORS, count: 1 });
await using publisher = new Publisher();
const batchThread = new BatchThread(new URL('../src/main/node/batch-worker.ts', import.meta.url), storeDirectory);
const besideTaken: Record<'view' | 'read', Taken[]> = { view: [], read: [] };
try {
  await run();
} finally {
  await batchThread[Symbol.asyncDispose]();
  await store.close();
  await rm(scratch, { recursive: true, force: true });
}

async function run(): Promise<void> {
  console.log(`load ${loadavg()[0]?.toFixed(2)}, ${EVENTS} events`);
  if (DatabaseMachine.open(source) === undefined) await build(store);
  const read = await viewRead();
  const batches = await allBatches();
  const bytes = batches.reduce((sum, { events }) => sum + events.length, 0);
  console.log(
    `${batches.length} batches of ${(bytes / batches.length / 1024).toFixed(0)} KiB, ${(bytes / EVENTS).toFixed(0)} bytes an event`,
  );
  const ways: Record<string, Taken[]> = { view: [], read: [], texts: [], executor: [] };
  await foldAlone(read, batches);
  for (let turn = 0; turn < TURNS; turn++) {
    if (beside !== undefined) await takeBeside(beside, read);
    ways['view']?.push(await takenOf(await views(), read));
    ways['read']?.push(await taken(() => dropAll()));
    ways['texts']?.push(await taken(dropTexts));
    ways['executor']?.push(await taken(() => foldAlone(read, batches)));
  }
  for (const [way, all] of Object.entries(ways)) console.log(`${way}: ${shown(all)}`);
  console.log(`texts : read ${spread(ratios('cpuMs', ways['texts'], ways['read']))} of the processor time`);
  for (const [way, all] of beside === undefined ? [] : Object.entries(besideTaken)) {
    console.log(`${way} beside: ${shown(all)}`);
    const [ms, cpuMs] = [ratios('ms', all, ways[way]), ratios('cpuMs', all, ways[way])];
    console.log(`${way} beside : ${way} ${spread(ms)} of the time, ${spread(cpuMs)} of the processor time`);
  }
  const share = (wallOf(ways['executor']) / wallOf(ways['view'])) * 100;
  console.log(`view : executor ${share.toFixed(0)} % of the rate`);
  console.log(`the loop stood during view: ${stood(ways['view'])}`);
  if (beside !== undefined) console.log(`the loop stood during view beside: ${stood(besideTaken.view)}`);
  await near(read);
}

/** The measured exports of a work tree. */
interface Tree {
  readonly StateViews: typeof StateViews;
  readonly FoldSnapshots: typeof FoldSnapshots;
  readonly CacheFolder: typeof CacheFolder;
  readonly Executors: typeof Executors;
  readonly eventBatches: typeof eventBatches;
}

async function treeIn(directory: string): Promise<Tree> {
  const components: Pick<Tree, 'StateViews' | 'FoldSnapshots' | 'CacheFolder'> = await import(
    join(directory, 'src/components/index.ts')
  );
  const batches: Pick<Tree, 'eventBatches'> = await import(join(directory, 'src/components/event-batches.ts'));
  const wasm: Pick<Tree, 'Executors'> = await import(join(directory, 'src/wasm/index.ts'));
  return { ...components, ...batches, ...wasm };
}

async function takeBeside(tree: Tree, read: ViewRead): Promise<void> {
  const others = await tree.CacheFolder.open(await folderOptions());
  const made = new tree.StateViews(besideExecutors ?? executors, new tree.FoldSnapshots(others));
  besideTaken.view.push(await takenOf(made, read));
  besideTaken.read.push(await taken(() => dropAll(tree.eventBatches)));
}

async function folderOptions(): Promise<{ path: string; bytesMax: number; memoryBytesMax: number }> {
  const path = await mkdtemp(join(scratch, 'folds-'));
  return { path, bytesMax: 64 * MEBIBYTE, memoryBytesMax: 16 * MEBIBYTE };
}

/** Uses new snapshots, so that each turn starts at the first event. */
async function views(): Promise<StateViews> {
  const folder = await CacheFolder.open(await folderOptions());
  return new StateViews(executors, new FoldSnapshots(folder), DEFAULT_STATE_VIEWS, batchThread);
}

async function viewRead(): Promise<ViewRead> {
  const folder = await CacheFolder.open({
    path: join(scratch, 'artifacts'),
    bytesMax: 64 * MEBIBYTE,
    memoryBytesMax: 0,
  });
  const smoke = { limits: { fuel: 1e7, outputBytesMax: 1e6, hostCallsMax: 0 }, wasi: FOLD_WASI };
  const component = await wat(countingText({ hasBatch: true }));
  const made = await new ArtifactStore(folder, publisher, { limits: DEFAULT_LIMITS, smoke }).artifact({
    kind: 'state-view',
    digest: createHash('sha256').update(component).digest('hex'),
    bytes: async () => component,
  });
  if (made.kind === 'failure') throw new Error(JSON.stringify(made.reason));
  return {
    source,
    databaseId: 'bench',
    view: 'count/v1',
    foldEpoch: 1,
    artifact: made.value,
    selector: ALL,
    order: 'revision',
    parameters: new Map(),
    at: EVENTS / PER_TRANSACTION,
  };
}

function batchesOf(made: typeof eventBatches = eventBatches): AsyncGenerator<EventBatch, undefined> {
  const query = { selector: ALL, revisions: {}, direction: 'forward' } as const;
  return made(source, { at: EVENTS / PER_TRANSACTION, query, bounds: DEFAULT_STATE_VIEWS.batch });
}

async function allBatches(): Promise<readonly EventBatch[]> {
  const batches: EventBatch[] = [];
  for await (const batch of batchesOf()) batches.push(batch);
  return batches;
}

async function dropAll(made: typeof eventBatches = eventBatches): Promise<void> {
  let count = 0;
  for await (const batch of batchesOf(made)) count += batch.count;
  if (count !== EVENTS) throw new Error(`${count} events were read`);
}

/** Creates an object and a string for each event, and copies its bytes into a buffer. */
async function dropTexts(): Promise<void> {
  const query = { selector: ALL, revisions: {}, direction: 'forward' } as const;
  const { bytesMax, eventsMax } = DEFAULT_STATE_VIEWS.batch;
  let buffer = Buffer.allocUnsafe(bytesMax);
  let [length, count, all] = [0, 0, 0];
  for await (const slice of queryEvents(source, { at: EVENTS / PER_TRANSACTION, query, lent: true })) {
    for (const { position, recordedTimeMs, bytes } of slice) {
      const text = eventToJson(bytes, { ...position, recordedTimeMs });
      if (length + 4 + 3 * text.length > bytesMax || count >= eventsMax) {
        buffer = Buffer.allocUnsafe(bytesMax);
        [length, count] = [0, 0];
      }
      const written = buffer.write(text, length + 4, 'utf8');
      buffer.writeUInt32LE(written, length);
      length += 4 + written;
      count++;
      all++;
    }
    await setImmediate();
  }
  if (all !== EVENTS) throw new Error(`${all} events were read`);
}

async function foldAlone({ artifact }: ViewRead, batches: readonly EventBatch[]): Promise<void> {
  let state: Uint8Array = NO_BYTES;
  for (const { events } of batches) {
    const outcome = await executors.fold({ artifact, ...DEFAULT_STATE_VIEWS.guest, wasi: FOLD_WASI, state, events });
    if (outcome.kind !== 'state') throw new Error(JSON.stringify(outcome));
    state = outcome.state;
  }
  expectAll(state);
}

function expectRendered(answer: Awaited<ReturnType<StateViews['render']>>): void {
  if (answer.kind !== 'rendered') throw new Error(answer.message);
  expectAll(answer.bytes);
}

function expectAll(state: Uint8Array): void {
  const count = new DataView(state.buffer, state.byteOffset).getBigUint64(0, true);
  if (count !== BigInt(EVENTS)) throw new Error(`The guest has seen ${count} events`);
}

/** Each turn keeps no snapshot, so it folds as many events as the previous one. */
async function near(read: ViewRead): Promise<void> {
  const path = await mkdtemp(join(scratch, 'folds-'));
  const folder = await CacheFolder.open({ path, bytesMax: 64 * MEBIBYTE, memoryBytesMax: 0 });
  const settings = { ...DEFAULT_STATE_VIEWS, snapshotEventsMin: NEAR_EVENTS + 1 };
  const own = new StateViews(executors, new FoldSnapshots(folder), settings, batchThread);
  await own.render({ ...read, at: read.at - NEAR_EVENTS / PER_TRANSACTION });
  const times: number[] = [];
  for (let turn = 0; turn < NEAR_TURNS; turn++) {
    times.push(
      await timed(async () => {
        const answer = await own.render(read);
        if (answer.kind !== 'rendered' || answer.foldedCount !== NEAR_EVENTS) throw new Error(JSON.stringify(answer));
      }),
    );
  }
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(NEAR_TURNS * 0.99)] ?? 0;
  console.log(
    `near: ${NEAR_EVENTS} events behind a snapshot in a file, p50 ${median(times).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
  );
}

async function build(into: LevelStore): Promise<void> {
  const databaseId = toDatabaseId('01968e6a-0000-7000-8000-000000000001');
  const machine = DatabaseMachine.create(source, { databaseId, createdAtMs: START_MS, membership: NO_BYTES });
  for (let n = 0; n < EVENTS; n += PER_FLUSH) {
    for (let at = n; at < n + PER_FLUSH; at += PER_TRANSACTION) {
      machine.transact({ index: toLogIndex(machine.appliedIndex + 1), term: toTerm(1), payload: transaction(at) });
    }
    const batch = into.batch();
    machine.flushInto(batch);
    await into.write(batch);
    machine.flushed();
  }
}

function transaction(from: number): Uint8Array {
  const events = Array.from({ length: PER_TRANSACTION }, (_, place) => storedEvent(from + place));
  return encodeTransaction(events, [], START_MS + from, numberedId(from));
}

/** About 200 bytes in stored form. */
function storedEvent(n: number): Uint8Array {
  return encodeEvent({
    id: `0199a5c8-3c1e-7a2b-9f00-${String(n).padStart(12, '0')}`,
    specVersion: '1.0',
    type: `com.example.order.${n % 100}`,
    source: `/db/shop/streams/order-${(n * 7_919) % (EVENTS / 10)}`,
    subject: `order-${n % 1000}`,
    data: encodeUtf8(`{"customer":"c-1234","total":"129.90","note":"${String(n).padStart(24, 'x')}"}`),
    dataKind: DATA_KIND.JSON,
    extensions: new Map(),
  });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
}

/** Ratio of each turn. */
function ratios(of: 'ms' | 'cpuMs', one: readonly Taken[] = [], other: readonly Taken[] = []): readonly number[] {
  return one.map((all, turn) => all[of] / (other[turn]?.[of] ?? 0));
}

/** The median ratio with its range. */
function spread(all: readonly number[]): string {
  return `${median(all).toFixed(2)} × (${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)})`;
}

/** Measures a rendering together with the event-loop delay. */
async function takenOf(made: Pick<StateViews, 'render'>, read: ViewRead): Promise<Taken> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const all = await taken(async () => expectRendered(await made.render(read)));
  delay.disable();
  return { ...all, stoodMs: { max: delay.max / NS_PER_MS, p99: delay.percentile(99) / NS_PER_MS } };
}

function stood(all: readonly Taken[] = []): string {
  const [max, p99] = (['max', 'p99'] as const).map((of) =>
    all.map(({ stoodMs }) => stoodMs?.[of].toFixed(1)).join(' '),
  );
  return `${max} ms at most, p99 ${p99} ms`;
}

interface Taken {
  readonly stoodMs?: { readonly max: number; readonly p99: number };
  readonly ms: number;
  /** CPU time of this process. */
  readonly cpuMs: number;
}

async function taken(work: () => Promise<void>): Promise<Taken> {
  const before = process.cpuUsage();
  const ms = await timed(work);
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1000 };
}

function wallOf(all: readonly Taken[] = []): number {
  return median(all.map(({ ms }) => ms));
}

function shown(all: readonly Taken[]): string {
  const walls = all.map(({ ms }) => ms.toFixed(0)).join(' ');
  const cpus = all.map(({ cpuMs }) => cpuMs.toFixed(0)).join(' ');
  const rate = Math.round(EVENTS / (wallOf(all) / 1000)).toLocaleString('en');
  return `median ${wallOf(all).toFixed(0)} ms, ${walls}; processor ${cpus} ms; ${rate} events/s`;
}
