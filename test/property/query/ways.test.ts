// Goal: all access paths of a query give the same result (Q1), even with room for only a few events at a time (Q3).
// Method: random databases; changes of the path after few steps; names from the history; against naive results.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8 } from '#base';
import { DatabaseReader, HEAD_KIND, type HeadKind, type PostingEntry, type StoredEvent } from '#database';
import { type Direction, streamOfSource } from '#model';
import { type ListedName, type Listing, pulled } from '#query';
import { boundsOf, isEmpty } from '../../../src/query/bounds.ts';
import { listNames } from '../../../src/query/listings.ts';
import { NamesInHistory } from '../../../src/query/names-in-history.ts';
import { timeEvents } from '../../../src/query/time-events.ts';
import { compareTimePlaces, Selection } from '../../../src/query/time-place.ts';
import { arbHistory, arbQuery, grow, type Question } from '../../support/histories.ts';
import { KnownDatabase, type KnownEvent, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';

interface Room {
  readonly selectedMax: number;
  readonly rowsAtOnceMax: number;
}

const arbRoom: fc.Arbitrary<Room> = fc.record({
  selectedMax: fc.integer({ min: 1, max: 30 }),
  rowsAtOnceMax: fc.constantFrom(0, 1, 3, 36),
});

async function inTime(database: KnownDatabase, at: number, { query }: Question, room: Room): Promise<unknown> {
  const { selector, revisions, direction, effectiveTime: times = {}, after } = query;
  const bounds = boundsOf({ at, revisions, direction: 'forward' });
  if (isEmpty(bounds)) return [];
  const reader = new DatabaseReader(database.source);
  const options = { at, selector, bounds, times, direction, after, pace: pulled(), ...room };
  const chunks = await timeEvents(reader, options);
  const events: StoredEvent[] = [];
  for (let some = await chunks?.next(Infinity); some !== undefined; some = await chunks?.next(Infinity)) {
    events.push(...some);
  }
  return events.map(({ position }) => position);
}

it('the order of effective time is the same for every access path and any change between them (Q1, Q3)', async () => {
  const questions = fc.array(fc.tuple(arbQuery, arbRoom, fc.boolean()), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(arbHistory, questions, async (history, asked) => {
      const database = new KnownDatabase(memoryKv());
      await grow(database, history);
      for (const [question, room, isResumed] of asked) {
        const at = Math.round(question.share * database.revision);
        const some = isResumed ? database.events.find(({ stored }) => stored.position.revision <= at) : undefined;
        const { limit: _, ...unlimited } = question.query;
        const query = { effectiveTime: {}, ...unlimited, after: some?.stored.position };
        const wanted = naiveAnswer(database.events, at, query).map(({ position }) => position);
        expect([query, at, room, await inTime(database, at, { ...question, query }, room)]).toEqual([
          query,
          at,
          room,
          wanted,
        ]);
      }
    }),
    { numRuns: runs(40) },
  );
});

const directions = fc.constantFrom<Direction>('forward', 'reverse');

const arbEntry: fc.Arbitrary<PostingEntry> = fc.record({
  revision: fc.integer({ min: 1, max: 20 }),
  index: fc.nat(2),
  position: fc.constant(0),
  seconds: fc.nat(3),
  nanos: fc.nat(1),
  recordedTimeMs: fc.constant(0),
  hasStoredId: fc.constant(false),
});

it('a selection takes the next entries, and continues after them (Q3)', async () => {
  const distinct = fc.uniqueArray(arbEntry, { selector: (entry) => JSON.stringify(entry) });
  fc.assert(
    fc.property(directions, distinct, fc.integer({ min: 1, max: 5 }), (direction, entries, max) => {
      const wanted = entries.toSorted((a, b) => compareTimePlaces(a, b, direction));
      const found: PostingEntry[] = [];
      for (let overflowed = true; overflowed; ) {
        const selection = new Selection(direction, max, found.at(-1));
        for (const entry of entries) {
          selection.offer(entry);
          expect(selection.count).toBeLessThan(2 * max);
        }
        found.push(...selection.take());
        overflowed = selection.overflowed;
      }
      expect(found).toEqual(wanted);
    }),
    { numRuns: runs(500) },
  );
});

function nameOf(kind: HeadKind, { event }: KnownEvent): string | undefined {
  if (kind === HEAD_KIND.STREAM) return streamOfSource(event.source);
  return kind === HEAD_KIND.TYPE ? event.type : event.subject;
}

function bytesOrder(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function naiveNames(events: readonly KnownEvent[], kind: HeadKind, listing: Listing): readonly ListedName[] {
  const { at, prefix = '', after, limit = Infinity } = listing;
  const first = new Map<string, number>();
  for (const event of events) {
    const { revision } = event.stored.position;
    const name = nameOf(kind, event);
    if (name !== undefined && revision <= at && !first.has(name)) first.set(name, revision);
  }
  return [...first]
    .map(([name, firstRevision]) => ({ name, firstRevision }))
    .filter(({ name }) => name.startsWith(prefix) && (after === undefined || bytesOrder(name, after) > 0))
    .toSorted((left, right) => bytesOrder(left.name, right.name))
    .slice(0, limit);
}

const arbNames = fc.record({
  kind: fc.constantFrom<HeadKind>(HEAD_KIND.STREAM, HEAD_KIND.TYPE, HEAD_KIND.SUBJECT),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  prefix: fc.constantFrom('', 't', 's/', 'a', 'x'),
  after: fc.constantFrom(undefined, 'a', 's/1', 't.x', 'é'),
  max: fc.integer({ min: 1, max: 4 }),
});

it('the names in the history are those of the heads, with room for a few (Q1, Q3)', async () => {
  await fc.assert(
    fc.asyncProperty(arbHistory, fc.array(arbNames, { minLength: 1, maxLength: 20 }), async (history, asked) => {
      const database = new KnownDatabase(memoryKv());
      await grow(database, history);
      for (const { kind, share, prefix, after, max } of asked) {
        const at = Math.round(share * database.revision);
        const found: ListedName[] = [];
        let behind = after === undefined ? undefined : encodeUtf8(after);
        for (let goesOn = at > 0; goesOn; ) {
          const reader = new DatabaseReader(database.source);
          const walk = new NamesInHistory(reader, { kind, at, prefix: encodeUtf8(prefix), after: behind, max });
          while (await walk.step());
          const { names, overflowed } = walk.take();
          for (const { term, firstRevision } of names) found.push({ name: decodeUtf8(term) ?? '', firstRevision });
          behind = names.at(-1)?.term;
          goesOn = overflowed;
        }
        expect([kind, at, prefix, after, found]).toEqual([
          kind,
          at,
          prefix,
          after,
          naiveNames(database.events, kind, { at, prefix, after }),
        ]);
      }
    }),
    { numRuns: runs(60) },
  );
});

describe('a listing that alternates between heads and the history', () => {
  const database = new KnownDatabase(memoryKv());
  const TRANSACTIONS = 30;

  beforeAll(() =>
    database.fill(TRANSACTIONS, (n) =>
      Array.from({ length: 100 }, (_, place) => {
        return { source: 'a', type: 't', subject: `s-${((n * 100 + place) * 7_919) % 3_000}` };
      }),
    ),
  );

  it('gives every name once, in order (Q1)', async () => {
    for (const at of [1, 15, 29, TRANSACTIONS]) {
      for (const limit of [undefined, 1, 400]) {
        const listing = { at, limit };
        const names: ListedName[] = [];
        const wanted = { kind: HEAD_KIND.SUBJECT, listing, headsSkippedMax: 1, namesMax: 100 };
        for await (const some of listNames(database.source, wanted)) names.push(...some);
        expect([listing, names]).toEqual([listing, naiveNames(database.events, HEAD_KIND.SUBJECT, listing)]);
      }
    }
  });
});
