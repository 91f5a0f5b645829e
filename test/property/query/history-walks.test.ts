// Goal: a walk over the history that uses the heads gives the same result as one without them (Q1), and skips what is
// in between (Q4). Method: rare events far apart, against a naive filter; a counting reader.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader, type StoredEvent } from '#database';
import { and, comparePositions, type Direction, NO_SUBJECT, or, type Selector, term } from '#model';
import { pulled, queryEvents } from '#query';
import { boundsOf } from '../../../src/query/bounds.ts';
import { HistoryEvents } from '../../../src/query/history-events.ts';
import { CountingReader } from '../../support/counting-reader.ts';
import { type EventSketch, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';
import { arbSelector } from '../../support/selectors.ts';

const TRANSACTIONS = 1_000;

/** Two frequent events, and at some revisions one of a few rare kinds. */
function transaction(n: number): readonly EventSketch[] {
  const rare: EventSketch = { source: 'b/', type: n % 2 === 0 ? 't.x' : 'u', subject: `s/${n % 5}` };
  const everyday: EventSketch = { source: '/x/a', type: 'v', data: new Uint8Array(500) };
  return n % 97 === 5 || (n > 600 && n < 610) ? [everyday, rare] : [everyday, everyday];
}

const store = memoryKv();
const counted = new CountingReader(store);
const database = new KnownDatabase(store, counted);

beforeAll(() => database.fill(TRANSACTIONS, (n) => transaction(n - 1), 11));

interface Walk {
  readonly selector: Selector;
  readonly direction: Direction;
  readonly missesMin: number;
  readonly headsMin?: number;
}

async function walk({ direction, ...options }: Walk, at: number): Promise<readonly StoredEvent[]> {
  const bounds = boundsOf({ at, revisions: {}, direction });
  const chunks = new HistoryEvents(new DatabaseReader(database.source), { ...options, bounds, pace: pulled(1) });
  const events: StoredEvent[] = [];
  for (let some = await chunks.next(Infinity); some !== undefined; some = await chunks.next(Infinity)) {
    events.push(...some);
  }
  return events;
}

async function shown(options: Omit<Walk, 'direction'>, at: number): Promise<readonly StoredEvent['position'][]> {
  const bounds = boundsOf({ at, revisions: {}, direction: 'forward' });
  const chunks = new HistoryEvents(new DatabaseReader(database.source), { ...options, bounds, pace: pulled(1) });
  const places: StoredEvent['position'][] = [];
  const visit = async (): Promise<number | undefined> =>
    chunks.visit(Infinity, ({ revision, index }) => places.push({ revision, index }));
  for (let count = await visit(); count !== undefined; count = await visit());
  return places;
}

it('a walk over the history that skips gives every selected event (Q1)', async () => {
  const directions = fc.constantFrom<Direction>('forward', 'reverse');
  const options = fc.record({
    missesMin: fc.constantFrom(0, 1, 10, 100),
    headsMin: fc.constantFrom(0, 2, 4_096),
  });
  const revisions = fc.oneof(fc.constant(TRANSACTIONS), fc.integer({ min: 1, max: TRANSACTIONS }));
  await fc.assert(
    fc.asyncProperty(arbSelector, directions, options, revisions, async (selector, direction, given, at) => {
      const found = await walk({ selector, direction, ...given }, at);
      const wanted = naiveAnswer(database.events, at, { selector, revisions: {}, direction });
      const places = wanted.map(({ position }) => position);
      expect(found.map(({ position }) => position)).toEqual(places);
      const upwards = places.toSorted(comparePositions);
      expect(await shown({ selector, ...given }, at)).toEqual(upwards);
    }),
    { numRuns: runs(150) },
  );
});

it.each([
  ['a prefix', term('by-subject-prefix', 's/')],
  ['a prefix and a type', and([term('by-subject-prefix', 's/'), term('by-type', 'u')])],
  ['nothing that there is', and([term('by-subject-prefix', 's/'), NO_SUBJECT])],
  ['one of two prefixes', or([term('by-subject-prefix', 's/'), term('by-type-prefix', 't')])],
])('a walk over the history that leaps reads less than half of it for %s (Q4)', async (_name, selector) => {
  for (const direction of ['forward', 'reverse'] as const) {
    counted.reset();
    await walk({ selector, direction, missesMin: Infinity }, TRANSACTIONS);
    const all = counted.bytes;
    counted.reset();
    await walk({ selector, direction, missesMin: 20 }, TRANSACTIONS);
    expect(counted.bytes).toBeLessThan(all / 2);
  }
});

describe('a query with more names than a walk handles at once, all of them far apart', () => {
  const far = memoryKv();
  const reader = new CountingReader(far);
  const large = new KnownDatabase(far, reader);
  /** More names than a walk handles at once, and more events in between than it tests without a match. */
  const NAMED = 21;
  const LAST = 500;

  beforeAll(async () => {
    const everyday = Array.from({ length: 50 }, () => ({ source: 'a', type: 't', data: new Uint8Array(300) }));
    const named = (prefix: string, n: number): readonly EventSketch[] =>
      everyday.map((_, k) => ({ source: 'b', type: 't', subject: `${prefix}/${n}-${k}` }));
    const transactionOf = (n: number): readonly EventSketch[] =>
      n <= NAMED ? named('v', n) : n > LAST - NAMED ? named('w', n) : everyday;
    await large.fill(LAST, transactionOf, 20);
  });

  it.each([
    ['forward', 'w/'],
    ['reverse', 'v/'],
  ] as const)('%s costs their heads and not the history (Q4)', async (direction, prefix) => {
    reader.reset();
    const query = { selector: term('by-subject-prefix', prefix), revisions: {}, direction, limit: 10 };
    const found: StoredEvent[] = [];
    for await (const slice of queryEvents(large.source, { at: LAST, query })) found.push(...slice);
    expect(found).toEqual(naiveAnswer(large.events, LAST, query));
    // The heads twice, once for the plan and once for the seek, and some 16,384 of the 22,900 events in between.
    const [headBytes, eventBytes] = [160, 300];
    expect(reader.bytes).toBeLessThan(2 * NAMED * 50 * headBytes + 18_000 * eventBytes);
  });
});
