// Goal: a walk over a long list finds the first entry at or above any target and releases everything (Q2, Q5), and
// reads little for any distance (Q4). Method: random seeks against a sorted array; a counting reader.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DatabaseReader,
  END_RANK,
  HEAD_KIND,
  type HeadContent,
  type Hits,
  listHits,
  rankOf,
  rankRange,
  settled,
} from '#database';
import type { Direction } from '#model';
import { CountingReader } from '../../support/counting-reader.ts';
import { KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';

const TRANSACTIONS = 1_200;
const directions = fc.constantFrom<Direction>('forward', 'reverse');
/** Distances of one entry, of some entries, of some chunks, and of most of the list. */
const leaps = fc.array(fc.oneof(fc.constant(1), fc.nat(40 * 1024), fc.nat(400 * 1024), fc.nat(1200 * 1024)), {
  minLength: 1,
  maxLength: 40,
});

describe('a walk over a long list', () => {
  const store = memoryKv();
  const counted = new CountingReader(store);
  const database = new KnownDatabase(store, counted);
  let head: HeadContent;

  beforeAll(async () => {
    // Up to three entries per transaction, and transactions without any.
    const sources = (n: number): readonly string[] => [...['a', 'a', 'a'].slice(0, n % 4), 'b'];
    await database.fill(TRANSACTIONS, (n) => sources(n).map((source) => ({ source, type: 't' })), 31);
    const found = new DatabaseReader(database.source).head({ kind: HEAD_KIND.STREAM, term: Uint8Array.of(97) });
    if (found === undefined) throw new Error('The stream "a" has a head');
    head = found;
  });

  function ranksOf(direction: Direction): readonly number[] {
    return database.events
      .filter(({ event }) => event.source === 'a')
      .map(({ stored: { position } }) => rankOf(position.revision, position.index, direction))
      .toSorted((a, b) => a - b);
  }

  it('finds the first entry at or above every goal, in any bounds (Q2)', async () => {
    const revisions = fc.integer({ min: 0, max: TRANSACTIONS + 5 });
    await fc.assert(
      fc.asyncProperty(directions, revisions, revisions, leaps, async (direction, one, other, goals) => {
        const bounds = rankRange(Math.min(one, other), Math.max(one, other), direction);
        const ranks = ranksOf(direction).filter((rank) => rank >= bounds.first && rank <= bounds.last);
        const hits = listHits(new DatabaseReader(database.source), head, bounds);
        let rank = await settled(hits);
        expect(rank).toBe(ranks[0] ?? END_RANK);
        for (const leap of goals) {
          const goal = rank + leap;
          hits.seek(goal);
          expect(hits.rank).toBeLessThanOrEqual(ranks.find((each) => each >= goal) ?? END_RANK);
          rank = await settled(hits);
          expect(rank).toBe(ranks.find((each) => each >= goal) ?? END_RANK);
          if (rank === END_RANK) break;
          const { revision, index } = hits.entry();
          expect(rankOf(revision, index, direction)).toBe(rank);
        }
        await hits.release();
        expect(counted.openRanges).toBe(0);
      }),
      { numRuns: runs(500) },
    );
  });

  it.each(['forward', 'reverse'] as const)(
    'going %s reads every chunk once, and leaps for a few (Q4)',
    async (direction) => {
      const ranks = ranksOf(direction);
      const begin = (): Hits =>
        listHits(new DatabaseReader(database.source), head, rankRange(1, TRANSACTIONS, direction));
      counted.reset();
      const hits = begin();
      const found: number[] = [];
      for (let rank = await settled(hits); rank !== END_RANK; rank = await settled(hits)) {
        found.push(rank);
        hits.seek(rank + 1);
      }
      await hits.release();
      expect(found).toEqual(ranks);
      expect([counted.rows, counted.ranges, counted.gets]).toEqual([Math.ceil((head.count - 64) / 64), 1, 0]);
      for (const goal of [0.2, 0.4, 0.6].map((share) => ranks[Math.floor(share * ranks.length)] ?? 0)) {
        const leaping = begin();
        leaping.seek(ranks[0] ?? 0);
        await settled(leaping);
        counted.reset();
        leaping.seek(goal);
        expect(await settled(leaping)).toBe(goal);
        await leaping.release();
        // One more read ahead, then the new range: two rows forward, or also the chunk above them in reverse.
        expect(counted.rows).toBeLessThanOrEqual(8 + 3);
        expect(counted.ranges).toBeLessThanOrEqual(2);
      }
    },
  );
});
