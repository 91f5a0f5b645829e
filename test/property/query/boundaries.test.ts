// Goal: every bound of a read is exact at its boundaries, for every access path (Q1, Q6, Q7). Method: random bounds at
// the edges of three small databases, against filters over a list.
import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { assert } from '#base';
import { ALL, and, type EventQuery, type Position, term } from '#model';
import { EventTail, queryEvents, type StoredEvent, scanLogEvents, visitEvents } from '#query';
import { CREATED_AT_MS, type EventSketch, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const RUNS = 2_000;
/** Numbers of revisions: none; a few; lists with several chunks. */
const SIZES = [0, 3, 150];

const DATABASES = new Map(SIZES.map((size) => [size, new KnownDatabase(memoryKv())]));

beforeAll(async () => {
  for (const [size, database] of DATABASES) await database.fill(size, transaction, 9);
});

function databaseOf(size: number): KnownDatabase {
  const database = DATABASES.get(size);
  assert(database !== undefined, 'A database of this size was made', size);
  return database;
}

/** One event or three, with effective times that are not sorted. */
function transaction(n: number): readonly EventSketch[] {
  const time = { instant: { seconds: CREATED_AT_MS / 1000 + (n % 3), nanos: n % 2 } };
  const first = { source: n % 4 === 0 ? 'b' : 'a', type: 't', time };
  return n % 2 === 0 ? [first] : [first, { source: 'a', type: 'u', subject: `s/${n}` }, { source: 'b', type: 't' }];
}

interface Drawn {
  readonly size: number;
  readonly at: number;
  readonly query: EventQuery;
}

const SELECTORS = [
  ALL,
  term('by-stream', 'a'),
  term('by-subject-prefix', 's/'),
  and([term('by-stream', 'a'), term('by-type', 't')]),
  term('by-stream', 'none'),
];

const arbDrawn: fc.Arbitrary<Drawn> = fc.constantFrom(...SIZES).chain((last) => {
  const edge = fc.constantFrom(0, 1, 2, Math.ceil(last / 2), last, last + 1, 2 ** 32, Number.MAX_SAFE_INTEGER);
  const bound = fc.oneof(fc.constant(undefined), edge, fc.constant(2n ** 64n - 1n));
  const position = fc.record({ revision: edge, index: fc.constantFrom(0, 1, 2, 999, 1_024, Number.MAX_SAFE_INTEGER) });
  const inTime = fc.boolean();
  return fc
    .record({
      at: fc.constantFrom(0, 1, Math.ceil(last / 2), last - 1, last).map((at) => Math.max(0, Math.min(at, last))),
      selector: fc.constantFrom(...SELECTORS),
      revisions: fc.record({ start: bound, end: bound }),
      direction: fc.constantFrom('forward' as const, 'reverse' as const),
      limit: fc.constantFrom(undefined, undefined, 1, 3, 2 ** 32 - 1),
      after: fc.option(position, { nil: undefined }),
      inTime,
    })
    .map(({ at, inTime: isInTime, after, ...rest }) => {
      if (!isInTime) return { size: last, at, query: { ...rest, after } };
      const known = databaseOf(last).events.filter(({ stored }) => stored.position.revision <= at);
      const behind = after === undefined ? undefined : known[after.revision % known.length]?.stored.position;
      return { size: last, at, query: { ...rest, effectiveTime: {}, after: behind } };
    });
});

function places(events: readonly StoredEvent[]): readonly Position[] {
  return events.map(({ position }) => position);
}

async function gather(slices: AsyncIterable<readonly StoredEvent[]>): Promise<readonly Position[]> {
  const found: Position[] = [];
  for await (const slice of slices) found.push(...places(slice));
  return found;
}

async function otherAnswers({ size, at, query }: Drawn): Promise<readonly (readonly Position[])[]> {
  const { selector, revisions, effectiveTime, direction, after, limit } = query;
  const { source } = databaseOf(size);
  const answers: (readonly Position[])[] = [];
  if (direction === 'forward') {
    const seen: Position[] = [];
    const visit = visitEvents(source, { at, query }, ({ revision, index }) => seen.push({ revision, index }));
    for await (const _ of visit);
    answers.push(seen);
  }
  const isPlain = effectiveTime === undefined && limit === undefined;
  const isOpen = revisions.start === undefined && revisions.end === undefined;
  if (isPlain && isOpen && direction === 'forward') {
    answers.push(await gather(new EventTail(source, { selector, after }).advance(at)));
  }
  const [start, end] = direction === 'forward' ? [revisions.start, revisions.end] : [revisions.end, revisions.start];
  if (isPlain && selector === ALL && after === undefined && end === undefined && typeof start !== 'bigint') {
    // A start of 0 means no start.
    if (start !== 0 || direction === 'forward')
      answers.push(await gather(scanLogEvents(source, { at, start, direction })));
  }
  return answers;
}

it('a read at the boundaries gives what filters over a plain list give, by every way to read (Q1, Q6, Q7)', async () => {
  const counts = { reads: 0, others: 0, nonEmpty: 0 };
  await fc.assert(
    fc.asyncProperty(arbDrawn, async (drawn) => {
      const { at, query, size } = drawn;
      const database = databaseOf(size);
      const wanted = places(naiveAnswer(database.events, at, query));
      const found = await gather(queryEvents(database.source, { at, query }));
      expect({ size, at, query, found }).toEqual({ size, at, query, found: wanted });
      const others = await otherAnswers(drawn);
      for (const other of others) expect({ size, at, query, other }).toEqual({ size, at, query, other: wanted });
      counts.reads += 1;
      counts.others += others.length;
      counts.nonEmpty += wanted.length > 0 ? 1 : 0;
    }),
    { numRuns: RUNS },
  );
  expect([counts.others > RUNS / 4, counts.nonEmpty > RUNS / 8]).toEqual([true, true]);
});
