// Goal: an intersection and a union of walks give what intersecting and uniting the sets would, in order, each entry
// once, however the parts stall and whatever is leapt over (Q2, Q3). Method: walks over plain arrays that become ready
// only now and then, nested at random, against sets.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PostingEntry } from '#database';
import { type Hits, settled } from '../../../src/query/hits.ts';
import { intersection, union } from '../../../src/query/merged-hits.ts';
import { END_RANK } from '../../../src/query/rank.ts';

/** A walk over sorted ranks that has to be settled before every `stall`-th answer. */
class ArrayHits implements Hits {
  rank: number;
  ready = false;
  released = 0;
  readonly #ranks: readonly number[];
  readonly #stall: number;
  #calls = 0;

  constructor(ranks: readonly number[], stall: number) {
    this.#ranks = ranks;
    this.#stall = stall;
    this.rank = 0;
  }

  seek(rank: number): void {
    if (this.ready && rank <= this.rank) return;
    this.rank = Math.max(this.rank, rank);
    this.ready = false;
    if (++this.#calls % this.#stall !== 0) this.#find();
  }

  settle(): Promise<void> {
    this.#find();
    return Promise.resolve();
  }

  entry(): PostingEntry {
    if (!this.ready) throw new Error('An entry is read when the walk is ready');
    return { revision: this.rank, index: 0, pageOffset: 0, offset: 0, seconds: 0, nanos: 0 };
  }

  release(): Promise<void> {
    this.released++;
    return Promise.resolve();
  }

  #find(): void {
    this.rank = this.#ranks.find((rank) => rank >= this.rank) ?? END_RANK;
    this.ready = true;
  }
}

type Tree =
  | { readonly kind: 'list'; readonly ranks: readonly number[]; readonly stall: number }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Tree[] };

const trees = fc.letrec<{ tree: Tree; list: Tree; merge: Tree }>((tie) => ({
  list: fc.record({
    kind: fc.constant('list' as const),
    ranks: fc.uniqueArray(fc.nat(40), { maxLength: 30 }).map((ranks) => ranks.toSorted((a, b) => a - b)),
    stall: fc.integer({ min: 1, max: 4 }),
  }),
  merge: fc.record({
    kind: fc.constantFrom('and' as const, 'or' as const),
    parts: fc.array(tie('tree'), { minLength: 1, maxLength: 5 }),
  }),
  tree: fc.oneof({ maxDepth: 3 }, tie('list'), tie('merge')),
})).tree;

function walkOf(tree: Tree): Hits {
  if (tree.kind === 'list') return new ArrayHits(tree.ranks, tree.stall);
  const parts = tree.parts.map(walkOf);
  return tree.kind === 'and' ? intersection(parts) : union(parts);
}

function setOf(tree: Tree): ReadonlySet<number> {
  if (tree.kind === 'list') return new Set(tree.ranks);
  const sets = tree.parts.map(setOf);
  const all = sets.flatMap((set) => [...set]);
  return new Set(tree.kind === 'or' ? all : all.filter((rank) => sets.every((set) => set.has(rank))));
}

async function drain(hits: Hits, leap: (rank: number) => number): Promise<readonly number[]> {
  const ranks: number[] = [];
  for (let rank = await settled(hits); rank !== END_RANK; rank = await settled(hits)) {
    expect(hits.entry().revision).toBe(rank);
    ranks.push(rank);
    hits.seek(leap(rank));
  }
  return ranks;
}

describe('walks that are merged', () => {
  it('give the merged ranks in order, each once, and leap to the first one at or above their goal', async () => {
    await fc.assert(
      fc.asyncProperty(trees, fc.integer({ min: 1, max: 9 }), async (tree, leap) => {
        const wanted: number[] = [];
        for (const rank of [...setOf(tree)].toSorted((a, b) => a - b)) {
          if (rank >= (wanted.at(-1) ?? -leap) + leap) wanted.push(rank);
        }
        expect(await drain(walkOf(tree), (rank) => rank + leap)).toEqual(wanted);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never say a rank above that of their next entry while they are not ready', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async (tree) => {
        const wanted = [...setOf(tree)].toSorted((a, b) => a - b);
        const hits = walkOf(tree);
        for (let next = 0; hits.rank !== END_RANK || !hits.ready; ) {
          expect(hits.rank).toBeLessThanOrEqual(wanted[next] ?? END_RANK);
          if (!hits.ready) await hits.settle();
          else if (hits.rank !== END_RANK) {
            next++;
            hits.seek(hits.rank + 1);
          }
        }
      }),
    );
  });

  it('release every part', async () => {
    const parts = [new ArrayHits([1], 1), new ArrayHits([2], 1)];
    await intersection(parts).release();
    await union(parts).release();
    expect(parts.map((part) => part.released)).toEqual([2, 2]);
  });
});
