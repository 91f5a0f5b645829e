// Goal: a query gives the same result as a scan of all events, for any bounds, at once or in pages, during writes (Q1,
// Q2, Q6). Method: random databases in memory and LevelDB, against naive filters.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KvStore } from '#kv';
import { ALL, type EventQuery, term } from '#model';
import { pulled, queryEvents, type StoredEvent, visitEvents } from '#query';
import { openLevelStore } from '#storage';
import { CountingReader } from '../../support/counting-reader.ts';
import { arbHistory, arbQuery, grow } from '../../support/histories.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { LendingReader } from '../../support/lending-reader.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';
import { TightPace } from '../../support/tight-pace.ts';

type Places = readonly (readonly [number, number])[];

function places(events: readonly StoredEvent[]): Places {
  return events.map(({ position }) => [position.revision, position.index]);
}

async function gather(slices: AsyncIterable<readonly StoredEvent[]>): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const slice of slices) events.push(...slice);
  return events;
}

async function ask(database: KnownDatabase, at: number, query: EventQuery): Promise<readonly StoredEvent[]> {
  return gather(queryEvents(database.source, { at, query }));
}

/** The result of a query in pages; each continues after the last event of the previous one. */
async function askInPages(database: KnownDatabase, at: number, query: EventQuery, size: number): Promise<Places> {
  const found: StoredEvent[] = [];
  let after = query.after;
  for (;;) {
    const page = await ask(database, at, { ...query, limit: size, after });
    found.push(...page);
    after = page.at(-1)?.position;
    if (after === undefined) return places(found);
  }
}

describe('a query', () => {
  it('gives the result of a scan of all events, at any revision, at once and in pages (Q1)', async () => {
    const questions = fc.array(fc.tuple(arbQuery, fc.integer({ min: 1, max: 7 })), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(arbHistory, questions, async (history, asked) => {
        const database = new KnownDatabase(memoryKv());
        await grow(database, history);
        for (const [place, [{ query, share }, size]] of asked.entries()) {
          const at = Math.round(share * database.revision);
          const wanted = naiveAnswer(database.events, at, query);
          expect([query, at, await ask(database, at, query)]).toEqual([query, at, wanted]);
          if (place > 0) continue;
          const { limit: _, ...unlimited } = query;
          const whole = places(naiveAnswer(database.events, at, unlimited));
          expect([query, at, await askInPages(database, at, unlimited, size)]).toEqual([query, at, whole]);
        }
      }),
      { numRuns: runs(120) },
    );
  });

  it('gives the same during writes between its slices, without holding a resource (Q1, Q2, Q5)', async () => {
    await fc.assert(
      fc.asyncProperty(arbHistory, arbHistory, arbQuery, async (before, after, { query }) => {
        const store = memoryKv();
        const counted = new CountingReader(store);
        const database = new KnownDatabase(store, counted);
        await grow(database, before);
        const at = database.revision;
        const found: StoredEvent[] = [];
        const wanted = places(naiveAnswer(database.events, at, query));
        const steps = [...after.steps];
        for await (const slice of queryEvents(database.source, { at, query, pace: pulled(1) })) {
          found.push(...slice);
          expect(counted.openRanges).toBe(0);
          await grow(database, { ...after, steps: steps.splice(0, 2) });
        }
        expect(places(found)).toEqual(wanted);
      }),
      { numRuns: runs(100) },
    );
  });

  it('shows the same events in place, and releases them (Q1, D12)', async () => {
    let releases = 0;
    let slices = 0;
    await fc.assert(
      fc.asyncProperty(arbHistory, arbQuery, fc.constantFrom(1, 2000), async (history, drawn, sliceBytes) => {
        const query: EventQuery = { ...drawn.query, direction: 'forward' };
        const store = memoryKv();
        const lending = new LendingReader(store);
        const database = new KnownDatabase(store, lending);
        await grow(database, history);
        const at = Math.round(drawn.share * database.revision);
        const found: StoredEvent[] = [];
        const visited = visitEvents(database.source, { at, query, pace: pulled(sliceBytes) }, (event) => {
          const { bytes, from, to, revision, index, recordedTimeMs, storedId } = event;
          const stored = { position: { revision, index }, recordedTimeMs, bytes: bytes.slice(from, to) };
          found.push(storedId === undefined ? stored : { ...stored, storedId });
        });
        for await (const _ of visited) slices++;
        expect(found).toEqual(naiveAnswer(database.events, at, query));
        releases += lending.releases;
      }),
      { numRuns: runs(150) },
    );
    expect([releases > 0, slices > 0]).toEqual([true, true]);
  });

  it('gives the same to a reader with little memory, in lent slices that fit (Q1, Q8, D12)', async () => {
    let [waits, releases] = [0, 0];
    await fc.assert(
      fc.asyncProperty(arbHistory, arbQuery, fc.constantFrom(20, 200, 2000), async (history, { query }, bytes) => {
        const store = memoryKv();
        const lending = new LendingReader(store);
        const database = new KnownDatabase(store, lending);
        await grow(database, history);
        const pace = new TightPace(bytes);
        const found: StoredEvent[] = [];
        for await (const slice of queryEvents(database.source, { at: database.revision, query, pace, lent: true })) {
          pace.took(slice);
          found.push(...slice.map((event) => ({ ...event, bytes: event.bytes.slice() })));
        }
        expect(found).toEqual(naiveAnswer(database.events, database.revision, query));
        expect(pace.faults).toEqual([]);
        waits += pace.waits;
        releases += lending.releases;
      }),
      { numRuns: runs(150) },
    );
    expect([waits > 0, releases > 0]).toEqual([true, true]);
  });

  it('gives nothing more once it is aborted', async () => {
    const database = new KnownDatabase(memoryKv());
    database.apply([{ source: 'a', type: 't' }], CREATED_AT_MS);
    await database.flush();
    const query = { selector: ALL, revisions: {}, direction: 'forward' } as const;
    expect(await gather(queryEvents(database.source, { at: 1, query, signal: { aborted: false } }))).toHaveLength(1);
    expect(await gather(queryEvents(database.source, { at: 1, query, signal: { aborted: true } }))).toEqual([]);
  });
});

/** Long lists, many names and many events per second, which short histories do not have. */
describe('a query in a large database in LevelDB', () => {
  let database: KnownDatabase;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const { store, reader, end } = await openStore();
    close = end;
    database = new KnownDatabase(store, reader);
    await database.fill(TRANSACTIONS, largeTransaction, 97);
  });
  afterAll(async () => close());

  it('gives the result of a scan of all events (Q1, Q2)', async () => {
    await fc.assert(
      fc.asyncProperty(arbQuery, arbAfter, async ({ query, share }, after) => {
        const at = Math.round(share * database.revision);
        const asked = { ...query, after: after.revision <= at ? after : undefined };
        const wanted = naiveAnswer(database.events, at, asked);
        expect([asked, at, places(await ask(database, at, asked))]).toEqual([asked, at, places(wanted)]);
      }),
      { numRuns: runs(250) },
    );
  });

  it.each(['forward', 'reverse'] as const)(
    'finds every event for more names than a walk handles at once, %s (Q3)',
    async (direction) => {
      for (const prefix of ['s/', '']) {
        const query = { selector: term('by-subject-prefix', prefix), revisions: {}, direction };
        const wanted = naiveAnswer(database.events, TRANSACTIONS, query);
        expect(places(await ask(database, TRANSACTIONS, query))).toEqual(places(wanted));
      }
    },
  );
});

const TRANSACTIONS = 1_500;

const arbAfter = fc.record({ revision: fc.integer({ min: 1, max: TRANSACTIONS }), index: fc.constantFrom(0, 1) });

/** Three events: a frequent one, one with a unique subject, and a rare one. */
function largeTransaction(n: number): readonly EventSketch[] {
  const instant = { seconds: CREATED_AT_MS / 1000 + (n % 3) - 1, nanos: (n % 7) * 1_000_000 };
  return [
    { source: '/x/a', type: 't', time: { instant } },
    { source: 'b/', type: n % 2 === 0 ? 't.x' : 'u', subject: `s/${n}` },
    { source: n % 50 === 0 ? 'a' : '/x/ab', type: n % 300 === 0 ? 'u' : 't', subject: n % 200 === 0 ? 's/1' : 'é' },
  ];
}

/** The reader has its own handle, like the front beside the core. */
async function openStore(): Promise<{ readonly store: KvStore; readonly reader: KvStore; end: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-query-'));
  const store = await openLevelStore(directory);
  const reader = await openLevelStore(directory);
  const end = async (): Promise<void> => {
    await reader.close();
    await store.close();
    await rm(directory, { recursive: true });
  };
  return { store, reader, end };
}
