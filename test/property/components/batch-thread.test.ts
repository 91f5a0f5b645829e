// Goal: batches of a thread have the same events as batches made on the event loop (F8), and only few are made in
// advance. Method: a growing database in LevelDB, random reads; threads that fail, end or are closed.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concatBytes } from '#base';
import { BatchThread } from '#components';
import { ALL, type EventQuery } from '#model';
import { type LevelStore, openLevelStore } from '#storage';
import { BatchMemory } from '../../../src/components/batch-memory.ts';
import { type BatchedQuery, type EventBatch, eventBatches } from '../../../src/components/event-batches.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { runs } from '../../support/runs.ts';
import { arbSelectable, arbSelector } from '../../support/selectors.ts';
import { tempDir } from '../../support/temp-dir.ts';

const WORKER = new URL('../../../src/main/node/batch-worker.ts', import.meta.url);
const FAILING_WORKER = new URL('../../support/components/failing-batch-worker.ts', import.meta.url);
const EVENTS_AT_FIRST = 300;
const MIB = 2 ** 20;

const dir = tempDir();
let store: LevelStore;
let database: KnownDatabase;
const memory = new BatchMemory();

beforeAll(async () => {
  store = await openLevelStore(dir.path);
  database = new KnownDatabase(store);
  for (const sketch of fc.sample(arbSketch, { numRuns: EVENTS_AT_FIRST, seed: 1 })) database.apply([sketch], timeMs());
  await database.flush();
});
afterAll(async () => {
  await store.close();
  dir[Symbol.dispose]();
});

const arbSketch: fc.Arbitrary<EventSketch> = fc
  .record({ what: arbSelectable, time: fc.option(fc.nat(30), { nil: undefined }) })
  .map(({ what: { source, type, subject }, time }) => ({
    source,
    type,
    ...(subject === undefined ? {} : { subject }),
    ...(time === undefined ? {} : { time: { instant: { seconds: CREATED_AT_MS / 1000 + time, nanos: 0 } } }),
  }));

/** Recorded times that do not follow the order of revisions. */
function timeMs(): number {
  return CREATED_AT_MS + 1000 * ((database.revision * 7) % 30);
}

const arbRead = fc.record({
  grown: fc.array(fc.array(arbSketch, { minLength: 1, maxLength: 4 }), { maxLength: 3 }),
  selector: fc.oneof(fc.constant(ALL), arbSelector),
  isByTime: fc.boolean(),
  eventsMax: fc.integer({ min: 1, max: 40 }),
  bytesMax: fc.constantFrom(1, 2000, 100_000),
  at: fc.integer({ min: 50, max: 100 }),
  begins: fc.option(fc.nat(), { nil: undefined }),
});

/** The read, and its start: after one of the selected events, or at the first one. */
async function askedOf(drawn: typeof arbRead extends fc.Arbitrary<infer Read> ? Read : never): Promise<BatchedQuery> {
  const { selector, isByTime, eventsMax, bytesMax, begins } = drawn;
  const at = Math.ceil((database.revision * drawn.at) / 100);
  const query: EventQuery = {
    selector,
    revisions: { end: at },
    direction: 'forward',
    ...(isByTime ? { effectiveTime: { end: { seconds: CREATED_AT_MS / 1000 + 25, nanos: 0 } } } : {}),
  };
  const asked = { at, query, bounds: { eventsMax, bytesMax } };
  if (begins === undefined) return asked;
  const single = await gathered(eventBatches(database.source, { ...asked, bounds: { eventsMax: 1, bytesMax } }));
  const after = single.lasts[begins % Math.max(1, single.lasts.length)]?.position;
  return { ...asked, query: { ...query, after } };
}

interface Gathered {
  readonly events: Uint8Array;
  readonly count: number;
  readonly lasts: readonly EventBatch['last'][];
}

async function gathered(batches: AsyncGenerator<EventBatch, undefined>, onBatch?: () => void): Promise<Gathered> {
  const all: EventBatch[] = [];
  for await (const batch of batches) {
    // The batch is only valid until the next one.
    all.push({ ...batch, events: batch.events.slice() });
    onBatch?.();
  }
  return {
    events: concatBytes(all.map(({ events }) => events)),
    count: all.reduce((sum, { count }) => sum + count, 0),
    lasts: all.map(({ last }) => last),
  };
}

/** Returns the number of reads that the thread served, at least in part. */
async function compareAll(thread: BatchThread, numRuns: number): Promise<number> {
  let threaded = 0;
  await fc.assert(
    fc.asyncProperty(arbRead, async (drawn) => {
      for (const sketches of drawn.grown) database.apply(sketches, timeMs());
      await database.flush();
      const asked = await askedOf(drawn);
      let isThreads = false;
      const found = await gathered(thread.batches(database.source, asked, memory.lease()), () => {
        isThreads ||= thread.foldCount > 0;
      });
      const wanted = await gathered(eventBatches(database.source, asked));
      threaded += isThreads ? 1 : 0;
      expect([Buffer.from(found.events).toString(), found.count, found.lasts.at(-1)]).toEqual([
        Buffer.from(wanted.events).toString(),
        wanted.count,
        wanted.lasts.at(-1),
      ]);
      expect(thread.foldCount).toBe(0);
    }),
    { numRuns },
  );
  return threaded;
}

/** One batch per event, so that the thread serves nearly all of them. */
function oneByOne(bytesMax: number = 1): BatchedQuery {
  const query = { selector: ALL, revisions: {}, direction: 'forward' } as const;
  return { at: database.revision, query, bounds: { eventsMax: 1, bytesMax } };
}

async function readsBy(thread: BatchThread): Promise<boolean> {
  let isThreads = false;
  await gathered(thread.batches(database.source, oneByOne(), memory.lease()), () => {
    isThreads ||= thread.foldCount > 0;
  });
  return isThreads;
}

async function opened(thread: BatchThread): Promise<void> {
  while (!(await readsBy(thread)));
}

describe('batches of a thread', { timeout: 120_000 }, () => {
  it('have the same events as batches of the event loop (F8)', async () => {
    await using thread = new BatchThread(WORKER, dir.path);
    await opened(thread);
    expect(await compareAll(thread, runs(80))).toBeGreaterThan(runs(16));
  });

  it('have the same events although reads of the thread fail and the thread ends', async () => {
    await using thread = new BatchThread(FAILING_WORKER, dir.path);
    await opened(thread);
    expect(await compareAll(thread, runs(80))).toBeGreaterThan(runs(5));
  });

  it('have the same events although the thread reads an older store', async () => {
    using empty = tempDir();
    await using thread = new BatchThread(WORKER, empty.path);
    const wanted = await gathered(eventBatches(database.source, oneByOne()));
    const asked = { count: 0 };
    const looking = setInterval(() => {
      asked.count += thread.foldCount;
    });
    while (asked.count === 0)
      expect(await gathered(thread.batches(database.source, oneByOne(), memory.lease()))).toEqual(wanted);
    clearInterval(looking);
  });

  it('have the same events for concurrent readers, during and after a close', async () => {
    const thread = new BatchThread(WORKER, dir.path);
    await opened(thread);
    const wanted = await gathered(eventBatches(database.source, oneByOne()));
    let batches = 0;
    const closing: Promise<void>[] = [];
    const reads = Array.from({ length: 8 }, () =>
      gathered(thread.batches(database.source, oneByOne(), memory.lease()), () => {
        batches++;
        if (batches === 500) closing.push(thread[Symbol.asyncDispose]());
      }),
    );
    expect(await Promise.all(reads)).toEqual(reads.map(() => wanted));
    expect(closing).toHaveLength(1);
    await Promise.all(closing);
    expect(await gathered(thread.batches(database.source, oneByOne(), memory.lease()))).toEqual(wanted);
    expect(thread.foldCount).toBe(0);
  });

  it('are made few in advance for a slow reader, and none for one that has stopped', async () => {
    await using thread = new BatchThread(WORKER, dir.path);
    await opened(thread);
    // Each batch allocates this number of bytes, regardless of its content.
    const batches = thread.batches(database.source, oneByOne(4 * MIB), memory.lease());
    while (thread.foldCount === 0) await batches.next();
    globalThis.gc?.();
    const before = process.memoryUsage().external;
    // The thread alternates between reads, so it would have read all of the other one by then.
    expect((await gathered(thread.batches(database.source, oneByOne(), memory.lease()))).count).toBe(
      database.events.length,
    );
    expect(process.memoryUsage().external - before).toBeLessThan(50 * MIB);
    await batches.return(undefined);
    expect(thread.foldCount).toBe(0);
    expect((await gathered(thread.batches(database.source, oneByOne(), memory.lease()))).count).toBe(
      database.events.length,
    );
  });
});
