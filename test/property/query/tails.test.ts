// Goal: a tail delivers every selected event once, in order, wherever it is resumed (Q7), at the cost of the new events
// only (Q4). Method: growing databases, interrupted advances; a counting reader.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL, and, NO_SUBJECT, type Position, term } from '#model';
import { EventTail, pulled, type StoredEvent } from '#query';
import { CountingReader } from '../../support/counting-reader.ts';
import { arbHistory, grow } from '../../support/histories.ts';
import { CREATED_AT_MS, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';
import { arbSelector } from '../../support/selectors.ts';

interface Advance {
  /** Number of slices that the reader takes before it stops; absent: all. */
  readonly slices: number | undefined;
  /** True when the tail ends and another one continues from its position. */
  readonly leaves: boolean;
}

const arbAdvance: fc.Arbitrary<Advance> = fc.record({
  slices: fc.option(fc.nat(3), { nil: undefined }),
  leaves: fc.boolean(),
});

async function take(tail: EventTail, at: number, slices: number | undefined): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  let taken = 0;
  if (slices === 0) return events;
  for await (const slice of tail.advance(at)) {
    events.push(...slice);
    if (++taken === slices) break;
  }
  return events;
}

describe('a tail', () => {
  it('delivers every selected event once, in order, despite interruptions (Q7)', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbSelector,
        fc.array(fc.tuple(arbHistory, arbAdvance), { maxLength: 6 }),
        async (selector, rounds) => {
          const database = new KnownDatabase(memoryKv());
          let tail = new EventTail(database.source, { selector, pace: pulled(1) });
          const found: StoredEvent[] = [];
          for (const [history, { slices, leaves }] of rounds) {
            await grow(database, history);
            found.push(...(await take(tail, database.revision, slices)));
            if (leaves) tail = new EventTail(database.source, { selector, after: tail.position, pace: pulled(1) });
          }
          found.push(...(await take(tail, database.revision, undefined)));
          const query = { selector, revisions: {}, direction: 'forward' } as const;
          const wanted = naiveAnswer(database.events, database.revision, query);
          expect(found.map(({ position }) => position)).toEqual(wanted.map(({ position }) => position));
        },
      ),
      { numRuns: runs(60) },
    );
  });

  it('waits for a position that the database has not reached', async () => {
    const database = new KnownDatabase(memoryKv());
    const after: Position = { revision: 2, index: 0 };
    const tail = new EventTail(database.source, { selector: ALL, after });
    for (let n = 0; n < 3; n++) {
      database.apply(
        [
          { source: 'a', type: 't' },
          { source: 'a', type: 't' },
        ],
        CREATED_AT_MS,
      );
      await database.flush();
      const found = await take(tail, database.revision, undefined);
      expect(found.map(({ position }) => `${position.revision}.${position.index}`)).toEqual(
        [[], ['2.1'], ['3.0', '3.1']][n],
      );
    }
  });

  it('does not move when it is aborted', async () => {
    const database = new KnownDatabase(memoryKv());
    database.apply([{ source: 'a', type: 't' }], CREATED_AT_MS);
    await database.flush();
    const tail = new EventTail(database.source, { selector: ALL });
    for await (const slice of tail.advance(1, { aborted: true })) expect(slice).toEqual([]);
    expect(tail.position.revision).toBe(0);
    expect(await take(tail, 1, undefined)).toHaveLength(1);
  });

  it.each([
    ['one list', term('by-stream', 'rare'), 1],
    ['no subject', NO_SUBJECT, 1],
    ['an And of two lists', and([term('by-type', 't'), term('by-stream', 'rare')]), 2],
  ] as const)('costs a read for each list when nothing of %s is new (Q4)', async (_name, selector, reads) => {
    const store = memoryKv();
    const counted = new CountingReader(store);
    const database = new KnownDatabase(store, counted);
    database.apply([{ source: 'rare', type: 't' }], CREATED_AT_MS);
    for (let n = 0; n < 2_000; n++) database.apply([{ source: 'a', type: 't', subject: `s/${n}` }], CREATED_AT_MS);
    await database.flush();
    const tail = new EventTail(database.source, { selector });
    expect(await take(tail, 1_000, undefined)).toHaveLength(1);
    counted.reset();
    expect(await take(tail, 2_001, undefined)).toEqual([]);
    expect(tail.position).toEqual({ revision: 2_001, index: 999 });
    expect(counted.gets).toBeLessThanOrEqual(reads);
    expect(counted.ranges).toBe(0);
  });
});
