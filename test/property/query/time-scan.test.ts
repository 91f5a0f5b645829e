// Goal: the order of effective time comes out right however many events share a second and however few of them are held
// at once (Q1, Q3). Method: random entries through a selection of a few; a database whose events crowd into few
// seconds, scanned with room for three of them, against sorting.

import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader, type PostingEntry } from '#database';
import { memoryKv } from '#kv';
import type { Direction } from '#model';
import { compareTimePlaces, Selection } from '../../../src/query/time-place.ts';
import { TimeScan } from '../../../src/query/time-scan.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { runs } from '../../support/runs.ts';

const directions = fc.constantFrom<Direction>('forward', 'reverse');

const arbEntry: fc.Arbitrary<PostingEntry> = fc.record({
  revision: fc.integer({ min: 1, max: 20 }),
  index: fc.nat(2),
  pageOffset: fc.constant(0),
  offset: fc.constant(0),
  seconds: fc.nat(3),
  nanos: fc.nat(1),
});

describe('a selection', () => {
  it('takes the entries that come next, and goes on behind them (Q3)', async () => {
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
});

describe('a scan in the order of effective time', () => {
  const database = new KnownDatabase(memoryKv());

  beforeAll(async () => {
    for (let n = 0; n < 300; n++) {
      const instant = { seconds: CREATED_AT_MS / 1000 + (n % 4), nanos: (n * 7) % 5 };
      database.apply(
        [
          { source: 'a', type: 't', time: { instant } },
          { source: 'a', type: 't' },
        ],
        CREATED_AT_MS + n * 10,
      );
      if (n % 11 === 0) await database.flush();
    }
    await database.flush();
  });

  it('gives every event once, with room for a few (Q3)', async () => {
    const revisions = fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 300 }));
    await fc.assert(
      fc.asyncProperty(
        directions,
        revisions,
        fc.integer({ min: 3, max: 400 }),
        async (direction, [one, other], room) => {
          const [first, last] = [Math.min(one, other), Math.max(one, other)];
          const reader = new DatabaseReader(database.source);
          const scan = new TimeScan(reader, { direction, times: {}, first, last, after: undefined, selectedMax: room });
          const found: string[] = [];
          for (let slice = await scan.next(); slice !== undefined; slice = await scan.next()) {
            found.push(...slice.map(({ revision, index }) => `${revision}.${index}`));
          }
          const wanted = database.events
            .map(({ stored, effective }) => ({ ...stored.position, ...effective }))
            .filter(({ revision }) => revision >= first && revision <= last)
            .toSorted((a, b) => compareTimePlaces(a, b, direction));
          expect(found).toEqual(wanted.map(({ revision, index }) => `${revision}.${index}`));
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
