/**
 * Measures reads with small results over long posting lists, or at old revisions, on one thread, with LevelDB and
 * without a network. Run it alone and with two sizes: a cost that grows with the size does not come from the result.
 *
 *   node --conditions=source bench/long-lists.ts [--events 150000] [--turns 3]
 *
 * Each transaction has 1,000 events with different subjects. A third of them are odd and a third are in stream B, but
 * none is both; one event half way is odd and in stream C. Effective times and subjects have another order than the
 * log. It prints one line per read: the median of its turns.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NO_BYTES, type Sha256, toDatabaseId, toGroupId, toLogIndex, toTerm } from '#base';
import { DatabaseMachine, type DatabaseSource } from '#database';
import { ALL, and, type EventQuery, encodeEvent, type Selector, term } from '#model';
import { type Listing, listSubjects, queryEvents } from '#query';
import { type LevelStore, openLevelStore } from '#storage';
import { encodeTransaction, numberedId } from './support/database-machine.ts';

const { values: options } = parseArgs({
  options: { events: { type: 'string', default: '150000' }, turns: { type: 'string', default: '3' } },
});

const EVENTS = Number(options.events);
const TURNS = Number(options.turns);
const PER_TRANSACTION = 1_000;
const TRANSACTIONS = EVENTS / PER_TRANSACTION;
const START_MS = 1_760_000_000_000;
/** Prime, so it has no common factor with any number of thousands. */
const STRIDE = 7_919;
/** About half way; a multiple of 6, so the event is odd and in stream C. */
const RARE = Math.floor(EVENTS / 12) * 6;
const MEBIBYTE = 2 ** 20;

const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

function encodedEvent(n: number): Uint8Array {
  const place = (n * STRIDE) % EVENTS;
  const isOdd = n % 3 === 0;
  const stream = n % 2 === 0 ? 'C' : 'B';
  return encodeEvent({
    id: String(n),
    specVersion: '1.0',
    type: isOdd ? 'odd' : 'even',
    source: isOdd && n !== RARE ? '/A' : `/${stream}`,
    subject: `s-${String(place).padStart(9, '0')}`,
    time: { instant: { seconds: START_MS / 1000 + place, nanos: 0 } },
    data: new Uint8Array(100),
    dataKind: 0,
    extensions: new Map(),
  });
}

function encodedTransaction(from: number): Uint8Array {
  const events = Array.from({ length: PER_TRANSACTION }, (_, place) => encodedEvent(from + place));
  return encodeTransaction(events, [], START_MS + from, numberedId(from));
}

async function build(store: LevelStore, source: DatabaseSource): Promise<void> {
  const databaseId = toDatabaseId('01968e6a-0000-7000-8000-000000000001');
  const machine = DatabaseMachine.create(source, { databaseId, createdAtMs: START_MS, membership: NO_BYTES });
  for (let n = 0; n < EVENTS; n += PER_TRANSACTION) {
    machine.transact({ index: toLogIndex(machine.appliedIndex + 1), term: toTerm(1), payload: encodedTransaction(n) });
    const batch = store.batch();
    machine.flushInto(batch);
    await store.write(batch);
    machine.flushed();
  }
}

async function reads(name: string, wanted: number, read: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const from = performance.now();
    const count = await read();
    times.push(performance.now() - from);
    if (count !== wanted) throw new Error(`${name}: ${count} instead of ${wanted}`);
  }
  times.sort((a, b) => a - b);
  console.log(`${name.padEnd(48)} ${(times[TURNS >> 1] ?? 0).toFixed(1).padStart(9)} ms`);
}

async function measure(source: DatabaseSource): Promise<void> {
  const count = async (selector: Selector, rest: Partial<EventQuery> = {}, at = TRANSACTIONS): Promise<number> => {
    const query: EventQuery = { selector, revisions: {}, direction: 'forward', ...rest };
    let events = 0;
    for await (const slice of queryEvents(source, { at, query, lent: true })) events += slice.length;
    return events;
  };
  const names = async (listing: Listing): Promise<number> => {
    let found = 0;
    for await (const slice of listSubjects(source, listing)) found += slice.length;
    return found;
  };
  const never = and([term('by-type', 'odd'), term('by-stream', 'B')]);
  const once = and([term('by-type', 'odd'), term('by-stream', 'C')]);
  const byTime = { effectiveTime: {} };
  await reads('And without a common event', 0, () => count(never));
  await reads('the same by effective time', 0, () => count(never, byTime));
  await reads('the same in reverse, limit 1', 0, () => count(never, { ...byTime, direction: 'reverse', limit: 1 }));
  await reads('And with one common event', 1, () => count(once));
  await reads('the same by effective time', 1, () => count(once, byTime));
  await reads('the same in reverse, limit 1', 1, () => count(once, { ...byTime, direction: 'reverse', limit: 1 }));
  await reads('first revision by effective time', 1_000, () => count(ALL, byTime, 1));
  const last = { ...byTime, revisions: { start: TRANSACTIONS } };
  await reads('last revision by effective time', 1_000, () => count(ALL, last));
  await reads('subjects at revision 0', 0, () => names({ at: 0 }));
  await reads('subjects at revision 1', 1_000, () => names({ at: 1 }));
  await reads('1,000 subjects half way', 1_000, () => names({ at: TRANSACTIONS / 2, limit: 1_000 }));
  await reads('1,000 subjects at the last revision', 1_000, () => names({ at: TRANSACTIONS, limit: 1_000 }));
}

const directory = await mkdtemp(join(tmpdir(), 'cairn-long-lists-'));
const store = await openLevelStore(directory, {
  cacheBytes: 64 * MEBIBYTE,
  writeBufferBytes: 32 * MEBIBYTE,
  maxFileBytes: 8 * MEBIBYTE,
  compression: false,
});
const source: DatabaseSource = { kv: store, group: toGroupId(7), sha256 };
await build(store, source);
const load = (): string =>
  loadavg()
    .map((each) => each.toFixed(1))
    .join(' ');
console.log(`${EVENTS.toLocaleString('en')} events, ${process.version}, load ${load()}`);
await measure(source);
await store.close();
await rm(directory, { recursive: true });
