// Goal: the cost of a read grows with its result, not with the size of the database (Q4), a scan reads the history
// once (Q6), and a slice is bounded (Q8). Method: 20,000 events, and a reader that counts.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALL, and, type EventQuery, or, type Selector, term } from '#model';
import { pulled, queryEvents, type StoredEvent, scanLogBatches } from '#query';
import { CountingReader } from '../../support/counting-reader.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const TRANSACTIONS = 2_000;
const PER_TRANSACTION = 10;
const STREAMS = 2_000;
const EVENTS = TRANSACTIONS * PER_TRANSACTION;
/** Bytes of a transaction, and of the two blocks that an event may be in. */
const TRANSACTION_BYTES = 4_000;
const BLOCK_BYTES = 4_092;

/** Ten events of 2,000 streams and five types. Each stream gets one event in every tenth of the history. */
function sketchesOf(n: number): readonly EventSketch[] {
  return Array.from({ length: PER_TRANSACTION }, (_, place) => {
    const stream = (n * PER_TRANSACTION + place) % STREAMS;
    return {
      source: `/streams/order-${stream}`,
      type: `type-${place % 5}`,
      subject: `customer-${stream % 1000}`,
      data: new Uint8Array(100),
    };
  });
}

const store = memoryKv();
const counted = new CountingReader(store);
const database = new KnownDatabase(store, counted);

beforeAll(async () => {
  for (let n = 0; n < TRANSACTIONS; n++) {
    database.apply(sketchesOf(n), CREATED_AT_MS + 100 * n);
    if (n % 50 === 0) await database.flush();
  }
  await database.flush();
});
beforeEach(() => counted.reset());

async function read(query: Partial<EventQuery> & { readonly selector: Selector }): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  const whole = { revisions: {}, direction: 'forward' as const, ...query };
  for await (const slice of queryEvents(database.source, { at: TRANSACTIONS, query: whole })) events.push(...slice);
  return events;
}

describe('reading 10 events among 20,000', () => {
  const stream = term('by-stream', 'order-1711');

  it.each([
    ['a stream', stream, 10],
    ['a stream in reverse', stream, 10],
    ['a source', term('by-source', '/streams/order-1711'), 10],
    ['a stream and a type', and([stream, term('by-type', 'type-1')]), 10],
    ['a stream and a type that it has not', and([stream, term('by-type', 'type-2')]), 0],
    ['a stream and a prefix of types', and([stream, term('by-type-prefix', 'type')]), 10],
    ['a subject', and([term('by-subject', 'customer-711'), stream]), 10],
    ['one of two streams', or([stream, term('by-stream', 'order-13')]), 20],
  ])('by %s reads a row for each list, and its events all at once (Q4)', async (_name, selector, count) => {
    expect(await read({ selector })).toHaveLength(count);
    expect(counted.gets).toBeLessThanOrEqual(2);
    expect(counted.ranges).toBe(0);
    expect(counted.waits).toBe(count === 0 ? 0 : 1);
    expect(counted.reads).toBeLessThanOrEqual(count);
    expect(counted.bytes).toBeLessThan(count * 2 * BLOCK_BYTES + 10_000);
  });
});

describe('reading the first 10 of many', () => {
  it.each(['forward', 'reverse'] as const)('%s by a type with 4,000 events reads few rows (Q4)', async (direction) => {
    expect(await read({ selector: term('by-type', 'type-3'), direction, limit: 10 })).toHaveLength(10);
    expect(counted.gets).toBe(1);
    expect(counted.waits).toBe(1);
    expect(counted.rows).toBeLessThanOrEqual(2);
  });

  it.each(['forward', 'reverse'] as const)('%s without a selector reads a few blocks (Q4)', async (direction) => {
    expect(await read({ selector: ALL, direction, limit: 10 })).toHaveLength(10);
    expect([counted.gets, counted.rows, counted.waits]).toEqual([2, 0, 1]);
    expect(counted.bytes).toBeLessThanOrEqual(9 * BLOCK_BYTES);
  });

  it.each(['forward', 'reverse'] as const)('one event going %s reads about its transaction (Q4)', async (direction) => {
    const revision = direction === 'forward' ? { start: 700 } : { end: 700 };
    expect(await read({ selector: ALL, revisions: revision, direction, limit: 1 })).toHaveLength(1);
    expect(counted.gets).toBeLessThanOrEqual(3);
    expect(counted.bytes).toBeLessThanOrEqual(2 * TRANSACTION_BYTES + 2 * BLOCK_BYTES);
  });

  it.each(['forward', 'reverse'] as const)('%s by effective time reads a few rows (Q4)', async (direction) => {
    expect(await read({ selector: ALL, effectiveTime: {}, direction, limit: 10 })).toHaveLength(10);
    expect(counted.rows + counted.gets + counted.waits).toBeLessThanOrEqual(45);
  });

  it('of a rare stream by effective time reads its list (Q4)', async () => {
    expect(await read({ selector: term('by-stream', 'order-1999'), effectiveTime: {} })).toHaveLength(10);
    expect([counted.gets, counted.rows, counted.waits]).toEqual([1, 0, 1]);
  });
});

it.each(['forward', 'reverse'] as const)('a scan going %s reads the history once (Q6)', async (direction) => {
  let [slices, bytes] = [0, 0];
  for await (const transactions of scanLogBatches(database.source, { at: TRANSACTIONS, direction })) {
    slices++;
    for (const transaction of transactions) bytes += transaction.bytes.length;
  }
  expect([counted.waits, counted.reads, counted.rows]).toEqual([slices, slices, 0]);
  // Where a slice ends, the blocks around its end are read again, and the transaction that did not fit.
  expect(counted.bytes).toBeLessThanOrEqual(bytes + slices * (2 * BLOCK_BYTES + TRANSACTION_BYTES));
  // Upwards the position of its first transaction finds a slice, downwards those of both ends.
  expect(counted.gets).toBeLessThanOrEqual((direction === 'forward' ? 1 : 2) * slices + 3);
});

it('a slice of a scan has about as many bytes as requested (Q8)', async () => {
  const sizes: number[] = [];
  const scan = { at: TRANSACTIONS, direction: 'forward', pace: pulled(100_000) } as const;
  for await (const transactions of scanLogBatches(database.source, scan)) {
    sizes.push(transactions.reduce((sum, { bytes }) => sum + bytes.length, 0));
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(100_000 + BLOCK_BYTES);
  expect(sizes.length).toBeLessThan((EVENTS * 400) / 100_000);
});

it('a slice of a query ends after a maximum of events, bytes and tests (Q8)', async () => {
  const query = { revisions: {}, direction: 'forward' } as const;
  const sizes = async (selector: Selector, sliceBytes?: number): Promise<readonly number[]> => {
    const found: number[] = [];
    const limited = { at: TRANSACTIONS, query: { ...query, selector, limit: 2_000 }, pace: pulled(sliceBytes) };
    for await (const slice of queryEvents(database.source, limited)) found.push(slice.length);
    return found;
  };
  expect(Math.max(...(await sizes(term('by-type', 'type-3'))))).toBe(256);
  expect(Math.max(...(await sizes(term('by-type', 'type-3'), 1_000)))).toBeLessThanOrEqual(10);
  const [first] = await sizes(and([term('by-type', 'type-3'), term('by-subject-prefix', 'customer-7')]));
  expect(first).toBeLessThanOrEqual(1024);
});

it.each(['forward', 'reverse'] as const)(
  'slices of long events going %s read each about once (Q8)',
  async (direction) => {
    const long = memoryKv();
    const reader = new CountingReader(long);
    const large = new KnownDatabase(long, reader);
    await large.fill(40, () => [{ source: 'a', type: 't', data: new Uint8Array(50_000) }]);
    const query = { selector: term('by-stream', 'a'), revisions: {}, direction };
    let bytes = 0;
    for await (const slice of queryEvents(large.source, { at: 40, query, pace: pulled(64 * 1024) })) {
      expect(slice.length).toBeLessThanOrEqual(2);
      for (const event of slice) bytes += event.bytes.length;
    }
    expect(bytes).toBeGreaterThan(40 * 50_000);
    expect(reader.bytes).toBeLessThan(1.5 * bytes);
  },
);
