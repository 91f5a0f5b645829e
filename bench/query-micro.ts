/**
 * Measures reads on one thread with LevelDB and without a network: the front's work for a read. Run it alone.
 *
 *   node --conditions=source bench/query-micro.ts [--events 1000000] [--seconds 3] [--store DIR]
 *     [--cache-mib 64] [--write-buffer-mib 32] [--file-mib 8] [--compression]
 *
 * It builds a database of 256-byte events with the real state machine: 100 events per transaction, 1,000 per flush, and
 * 10 per stream, far apart. With --store it keeps the database in DIR, and uses one that is there already. It prints
 * one line per measurement.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { encodeUtf8, NO_BYTES, type Sha256, toDatabaseId, toGroupId, toLogIndex, toTerm } from '#base';
import { DatabaseMachine, type DatabaseSource } from '#database';
import { ALL, and, DATA_KIND, type EventQuery, encodeEvent, type Selector, term } from '#model';
import { EventFrames, EventTail, frameTransactions, queryEvents, scanLogBatches, scanLogEvents } from '#query';
import { type LevelStore, openLevelStore } from '#storage';
import { encodeTransaction, numberedId } from './support/database-machine.ts';

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '3' },
    store: { type: 'string' },
    'cache-mib': { type: 'string', default: '64' },
    'write-buffer-mib': { type: 'string', default: '32' },
    'file-mib': { type: 'string', default: '8' },
    compression: { type: 'boolean', default: false },
  },
});

const EVENTS = Number(options.events);
const SECONDS = Number(options.seconds);
const PER_TRANSACTION = 100;
const PER_FLUSH = 1_000;
const TRANSACTIONS = EVENTS / PER_TRANSACTION;
const STREAMS = EVENTS / 10;
const TYPES = 100;
const START_MS = 1_760_000_000_000;
const MEBIBYTE = 2 ** 20;

const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

/** The events of a stream are a tenth of the log apart; 7,919 has no common factor with the number of streams. */
function encodedEvent(n: number): Uint8Array {
  const stream = (n * 7_919) % STREAMS;
  return encodeEvent({
    id: `0199a5c8-3c1e-7a2b-9f00-${String(n).padStart(12, '0')}`,
    specVersion: '1.0',
    type: `com.example.order.${n % TYPES}`,
    source: `/db/shop/streams/order-${stream}`,
    subject: `order-${stream}`,
    time: { instant: { seconds: START_MS / 1000 + Math.floor(n / 1000), nanos: (n % 1000) * 1_000_000 } },
    data: encodeUtf8(`{"customer":"c-1234","total":"129.90","note":"${randomText(n, 40)}"}`),
    dataKind: DATA_KIND.JSON,
    dataContentType: 'application/json',
    extensions: new Map(),
  });
}

/** Incompressible hexadecimal digits. */
function randomText(seed: number, length: number): string {
  return createHash('sha1').update(String(seed)).digest('hex').slice(0, length);
}

async function build(store: LevelStore, source: DatabaseSource): Promise<void> {
  const databaseId = toDatabaseId('01968e6a-0000-7000-8000-000000000001');
  const machine = DatabaseMachine.create(source, { databaseId, createdAtMs: START_MS, membership: NO_BYTES });
  const cpuBefore = process.cpuUsage();
  const from = performance.now();
  let machineMs = 0;
  for (let n = 0; n < EVENTS; n += PER_FLUSH) {
    const payloads: Uint8Array[] = [];
    for (let at = n; at < n + PER_FLUSH; at += PER_TRANSACTION) payloads.push(encodedTransaction(at));
    const start = performance.now();
    for (const payload of payloads) {
      machine.transact({ index: toLogIndex(machine.appliedIndex + 1), term: toTerm(1), payload });
    }
    const batch = store.batch();
    machine.flushInto(batch);
    machineMs += performance.now() - start;
    await store.write(batch);
    machine.flushed();
  }
  const ms = performance.now() - from;
  const cpu = (cpuMicros(cpuBefore) / EVENTS).toFixed(1);
  report(
    'build',
    `${perSecond(EVENTS, ms)} events/s (machine ${perSecond(EVENTS, machineMs)}), CPU ${cpu} us an event`,
  );
}

function encodedTransaction(from: number): Uint8Array {
  const events = Array.from({ length: PER_TRANSACTION }, (_, place) => encodedEvent(from + place));
  return encodeTransaction(events, [], START_MS + from, numberedId(from));
}

/** Repeats the read until the time is over; `read` returns its number of events. */
async function reads(name: string, wanted: number, read: (turn: number) => Promise<number>): Promise<void> {
  const micros: number[] = [];
  const cpuBefore = process.cpuUsage();
  const end = performance.now() + SECONDS * 1000;
  for (let turn = 0, now = performance.now(); now < end; turn++) {
    const count = await read(turn);
    if (count !== wanted) throw new Error(`${name}: ${count} events instead of ${wanted}`);
    const then = now;
    now = performance.now();
    micros.push((now - then) * 1000);
  }
  micros.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(micros[Math.floor(micros.length * share)] ?? 0);
  const mean = micros.reduce((sum, each) => sum + each, 0) / micros.length;
  const cpu = (cpuMicros(cpuBefore) / micros.length).toFixed(1);
  report(name, `${Math.round(1e6 / mean)}/s, p50 ${at(0.5)} us, p99 ${at(0.99)} us, CPU ${cpu} us a read`);
}

/** Measures one complete scan, after an unmeasured one; `walk` returns its number of events. */
async function scan(name: string, walk: () => Promise<number>): Promise<void> {
  await walk();
  const cpuBefore = process.cpuUsage();
  const from = performance.now();
  const count = await walk();
  if (count !== EVENTS) throw new Error(`${name}: ${count} events instead of ${EVENTS}`);
  const ms = performance.now() - from;
  report(name, `${perSecond(EVENTS, ms)} events/s, CPU ${(cpuMicros(cpuBefore) / EVENTS).toFixed(2)} us an event`);
}

/** Returns the number of events of a query. */
type Count = (selector: Selector, rest?: Partial<EventQuery>, lent?: boolean) => Promise<number>;

function countIn(source: DatabaseSource): Count {
  return async (selector, rest = {}, lent = false) => {
    const query: EventQuery = { selector, revisions: {}, direction: 'forward', ...rest };
    let events = 0;
    for await (const slice of queryEvents(source, { at: TRANSACTIONS, query, lent })) events += slice.length;
    return events;
  };
}

async function measureReads(source: DatabaseSource): Promise<void> {
  const count = countIn(source);
  const streamOf = (turn: number): string => `order-${(turn * 104_729) % STREAMS}`;
  const stream = (turn: number): Selector => term('by-stream', streamOf(turn));
  const type = (turn: number): Selector => term('by-type', `com.example.order.${turn % TYPES}`);
  const subjects = (turn: number): Selector => term('by-subject', streamOf(turn));

  await reads('10 of a stream', 10, (turn) => count(stream(turn)));
  await reads('10 of a stream, lent', 10, (turn) => count(stream(turn), {}, true));
  await reads('10 of a stream and a subject', 10, (turn) => count(and([stream(turn), subjects(turn)])));
  await reads('10 of a stream by time', 10, (turn) => count(stream(turn), { effectiveTime: {} }));
  await reads('first 10 of a type', 10, (turn) => count(type(turn), { limit: 10 }));
  await reads('last 10 of a type', 10, (turn) => count(type(turn), { limit: 10, direction: 'reverse' }));
  await reads('10 of a type from anywhere', 10, (turn) =>
    count(type(turn), { limit: 10, after: { revision: 1 + ((turn * 7_919) % (TRANSACTIONS - 1_100)), index: 0 } }),
  );
  await reads('100 of a type', 100, (turn) => count(type(turn), { limit: 100 }));
  await reads('100 from anywhere', 100, (turn) =>
    count(ALL, { limit: 100, after: { revision: 1 + ((turn * 7_919) % (TRANSACTIONS - 2)), index: 50 } }),
  );
  await reads('10 by time from anywhere', 10, (turn) => {
    const start = { seconds: START_MS / 1000 + ((turn * 7_919) % (EVENTS / 1000 - 2)), nanos: 0 };
    return count(ALL, { limit: 10, effectiveTime: { start } });
  });

  await reads('a tail that finds nothing new', 0, async (turn) => {
    const after = { revision: TRANSACTIONS - 1, index: 999 };
    const tail = new EventTail(source, { selector: term('by-stream', `none-${turn}`), after });
    let events = 0;
    for await (const slice of tail.advance(TRANSACTIONS)) events += slice.length;
    return events;
  });
}

async function measureScans(source: DatabaseSource): Promise<void> {
  for (const { direction, lent } of [
    { direction: 'forward', lent: false },
    { direction: 'forward', lent: true },
    { direction: 'reverse', lent: true },
  ] as const) {
    await scan(`scan ${direction}, batches${lent ? ', lent' : ''}`, async () => {
      let bytes = 0;
      let count = 0;
      for await (const transactions of scanLogBatches(source, { at: TRANSACTIONS, direction, lent })) {
        bytes += frameTransactions(transactions).length;
        count += transactions.length;
      }
      return bytes > 0 ? count * PER_TRANSACTION : 0;
    });
  }
  await scan('scan, events', async () => {
    let events = 0;
    for await (const slice of scanLogEvents(source, { at: TRANSACTIONS, direction: 'forward' })) events += slice.length;
    return events;
  });
  for (const [name, framing, logScan] of [
    ['scan, events framed one a message', 'messages', true],
    ['query of all, framed one a message', 'messages', false],
    ['query of all, framed as batches', 'batch', false],
  ] as const) {
    await scan(name, async () => {
      const frames = new EventFrames({ framing, logScan, startBytes: 512 * 1024 });
      let events = 0;
      for await (const slice of scanLogEvents(source, { at: TRANSACTIONS, direction: 'forward' })) {
        for (const event of slice) frames.append(event);
        events += frames.eventCount;
        frames.take();
      }
      return events;
    });
  }
  const count = countIn(source);
  await scan('query of a prefix of 100 types', async () => count(term('by-type-prefix', 'com.example')));
  await scan('query of all by time', async () => count(ALL, { effectiveTime: {} }));
}

/** CPU time of all threads of the process since `since`, which does not depend on other load of the machine. */
function cpuMicros(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

async function bytesOf(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function perSecond(count: number, ms: number): string {
  return Math.round((count / ms) * 1000).toLocaleString('en');
}

function report(name: string, result: string): void {
  console.log(`${name.padEnd(38)} ${result}`);
}

const directory = options.store ?? (await mkdtemp(join(tmpdir(), 'cairn-query-micro-')));
const store = await openLevelStore(directory, {
  cacheBytes: Number(options['cache-mib']) * MEBIBYTE,
  writeBufferBytes: Number(options['write-buffer-mib']) * MEBIBYTE,
  maxFileBytes: Number(options['file-mib']) * MEBIBYTE,
  compression: options.compression,
});
const source: DatabaseSource = { kv: store, group: toGroupId(7), sha256 };
console.log(
  `${EVENTS.toLocaleString('en')} events, ${process.version}, load ${loadavg()
    .map((each) => each.toFixed(1))
    .join(' ')}`,
);
if (DatabaseMachine.open(source) === undefined) await build(store, source);
console.log(`${Math.round((await bytesOf(directory)) / MEBIBYTE)} MiB on disk`);
await measureReads(source);
await measureScans(source);
console.log(
  `${Math.round(process.memoryUsage().rss / MEBIBYTE)} MiB resident, load ${loadavg()
    .map((each) => each.toFixed(1))
    .join(' ')}`,
);
await store.close();
if (options.store === undefined) await rm(directory, { recursive: true });
