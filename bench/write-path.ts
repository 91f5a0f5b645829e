/**
 * Measures the write path without a server in front of it: `Node.transact` in this process, by closed-loop callers.
 *
 *   node --conditions=source bench/write-path.ts [--seconds 3] [--event-bytes 256] [--callers 1,16,64] [--events 1,100]
 *                                                [--databases 1] [--conditional] [--slow-reads 0] [--dir path]
 *
 * It prints the rate, the latency of a transaction for its caller, log syncs and store batches per second with their
 * mean durations, and the CPU time of each thread per transaction (front: this loop and the front of the node; core;
 * log; libuv-worker: LevelDB's writes; V8Worker: garbage collection). With one caller it also prints the latency
 * without the sync: the work of front and core, and four messages between threads. Callers do not wait for batches of
 * the store; with many callers the batches show how far the store lags behind.
 *
 * `--slow-reads` keeps this number of reads of ten milliseconds in libuv's pool, as with a slow disk; LevelDB's writes
 * use the same pool. The pool has the same size as in the server, unless UV_THREADPOOL_SIZE is set. With the Node.js
 * option --cpu-prof, each thread writes a profile. Linux only: threads are identified through /proc.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, read, rmSync, writeSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { encodeUtf8, type GroupId } from '#base';
import { type Node, startNode } from '#cluster';
import { type Constraint, encodeEvent, encodeTransactPayload, NO_OPTIONS, ORIGIN } from '#model';
import { createLogger, createMetrics, type Metrics } from '#observability';
import { CORE_WORKER } from '../src/main/node/open-node.ts';
import { widenThreadPool } from '../src/main/process/node-pools.ts';
import { Latencies } from './support/latencies.ts';
import { threadSeconds } from './support/process-cpu.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    'event-bytes': { type: 'string', default: '256' },
    callers: { type: 'string', default: '1,16,64' },
    events: { type: 'string', default: '1,100' },
    databases: { type: 'string', default: '1' },
    'slow-reads': { type: 'string', default: '0' },
    conditional: { type: 'boolean', default: false },
    dir: { type: 'string', default: tmpdir() },
  },
});
const seconds = Number(values.seconds);
const eventBytes = Number(values['event-bytes']);
const databaseCount = Number(values.databases);
const SLOW_READ_MS = 10;
const DATA = encodeUtf8(JSON.stringify('x'.repeat(Math.max(0, eventBytes - 100))));

widenThreadPool(process.env);
let serial = 0;
const directory = mkdtempSync(join(values.dir, 'cairn-bench-'));
const syncs: number[] = [];
const writes: number[] = [];
const metrics = recording(createMetrics({ runtime: false }));
try {
  const logger = createLogger({ level: 'warn' });
  const node = await startNode({
    coreWorker: CORE_WORKER,
    dataDirectory: directory,
    name: 'bench',
    mayFound: true,
    logger,
    metrics,
  });
  const groups = await Promise.all(Array.from({ length: databaseCount }, (_, at) => created(node, `bench-${at}`)));
  console.log(
    `event ${eventBytes} B, ${databaseCount} database(s), fdatasync per batch, load ${loadavg()[0]?.toFixed(2)}`,
  );
  const endSlowReads = readSlowly(Number(values['slow-reads']), join(directory, 'pipe'));
  for (const events of numbers(values.events)) {
    for (const callers of numbers(values.callers)) await run(node, groups, { callers, events });
  }
  endSlowReads();
  await node.drain();
} finally {
  rmSync(directory, { recursive: true });
}

async function run(
  node: Node,
  groups: readonly GroupId[],
  { callers, events }: { readonly callers: number; readonly events: number },
): Promise<void> {
  const latencies = new Latencies();
  const beside = new Latencies();
  const before = snapshot();
  const startedMs = performance.now();
  const untilMs = startedMs + 1000 * seconds;
  const caller = async (_: unknown, at: number): Promise<void> => {
    const group = groups[at % groups.length];
    if (group === undefined) return;
    while (performance.now() < untilMs) {
      const payload = transaction(events);
      const place = syncs.length;
      const sentMs = performance.now();
      await node.transact(group, payload);
      const tookMs = performance.now() - sentMs;
      latencies.add(tookMs);
      const diskMs = syncs.slice(place);
      if (callers === 1 && diskMs.length === 1) beside.add(tookMs - sumOf(diskMs));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const elapsed = (performance.now() - startedMs) / 1000;
  report({ callers, events, elapsed, latencies, beside, before, after: snapshot() });
}

/**
 * Keeps `count` reads in the pool, each of which blocks its thread for up to ten milliseconds. Returns a function that
 * ends them.
 */
function readSlowly(count: number, pipe: string): () => void {
  if (count === 0) return () => undefined;
  execFileSync('mkfifo', [pipe]);
  const file = openSync(pipe, 'r+');
  const bytes = new Uint8Array(count);
  let isEnding = false;
  const next = (): void => {
    if (!isEnding) read(file, new Uint8Array(1), next);
  };
  for (let at = 0; at < count; at++) next();
  const feeding = setInterval(() => writeSync(file, bytes), SLOW_READ_MS);
  return () => {
    isEnding = true;
    setTimeout(() => clearInterval(feeding), 2 * SLOW_READ_MS);
  };
}

interface Snapshot {
  /** Number of syncs and writes so far. */
  readonly syncs: number;
  readonly writes: number;
  readonly cpu: ReadonlyMap<string, number>;
}

function report(result: {
  readonly callers: number;
  readonly events: number;
  readonly elapsed: number;
  readonly latencies: Latencies;
  readonly beside: Latencies;
  readonly before: Snapshot;
  readonly after: Snapshot;
}): void {
  const { callers, events, elapsed, latencies, beside, before, after } = result;
  const { p50, p99 } = latencies.percentiles();
  const rate = latencies.count / elapsed;
  const meanOf = (kind: 'syncs' | 'writes'): string => {
    const during = (kind === 'syncs' ? syncs : writes).slice(before[kind], after[kind]);
    const perSecond = String(Math.round(during.length / elapsed)).padStart(5);
    return `${kind} ${perSecond}/s of ${(sumOf(during) / during.length).toFixed(2)} ms`;
  };
  const rest = beside.count === 0 ? '' : `  beside it p50 ${beside.percentiles().p50.toFixed(2)} ms`;
  const cpu = [...after.cpu].map(([thread, used]) => {
    const micros = (1e6 * (used - (before.cpu.get(thread) ?? 0))) / latencies.count;
    return `${thread} ${micros.toFixed(1)}`;
  });
  console.log(
    `${String(callers).padStart(3)} callers x ${String(events).padStart(3)} events  ${String(Math.round(rate)).padStart(6)} tx/s ` +
      `${String(Math.round(rate * events)).padStart(7)} ev/s  p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ms  ` +
      `${meanOf('syncs')}  ${meanOf('writes')}${rest}  cpu µs/tx: ${cpu.join(' ')}`,
  );
}

/** The shape of the append workloads: one stream, one type, and a unique id and subject per event. */
function transaction(eventCount: number): Uint8Array {
  const events = Array.from({ length: eventCount }, () => {
    serial += 1;
    return encodeEvent({
      id: `id-${serial}`,
      specVersion: '1.0',
      type: 'com.example.order.placed',
      source: 'https://example.com/streams/orders',
      subject: `subject-${serial}`,
      data: DATA,
      dataKind: 1,
      extensions: new Map(),
    });
  });
  const transactionId = new Uint8Array(16);
  new DataView(transactionId.buffer).setFloat64(8, serial);
  return encodeTransactPayload({
    transactionId,
    origin: ORIGIN.GRPC_TRANSACTION,
    options: NO_OPTIONS,
    constraints: values.conditional ? [isNew(`subject-${serial}`)] : [],
    events,
  });
}

/** Constraint that the subject has no event yet. */
function isNew(subject: string): Constraint {
  return { kind: 'max-revision', revision: 0, selector: { kind: 'by-subject', value: subject } };
}

async function created(node: Node, name: string): Promise<GroupId> {
  const { binding } = await node.createDatabase(name);
  return binding.group;
}

function snapshot(): Snapshot {
  return { syncs: syncs.length, writes: writes.length, cpu: threadSeconds(process.pid) };
}

/** Metrics that also keep the duration of every sync and every write, in milliseconds. */
function recording(inner: Metrics): Metrics {
  const kept = new Map([
    ['cairn_wal_fsync_duration_seconds', syncs],
    ['cairn_store_commit_duration_seconds', writes],
  ]);
  return {
    ...inner,
    histogram: (name, labels) => {
      const histogram = inner.histogram(name, labels);
      return {
        observe: (value) => {
          kept.get(name)?.push(1000 * value);
          histogram.observe(value);
        },
      };
    },
  };
}

function sumOf(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0);
}

function numbers(list: string): readonly number[] {
  return list.split(',').map(Number);
}
