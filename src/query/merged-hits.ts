/**
 * Combined lists: the entries in all of them (And), and those in any of them (Or).
 *
 * An intersection seeks: each part moves to the rank of the foremost, the shortest list first, so that a short list
 * determines how much of a long one is read. A union keeps its parts in a heap by rank and returns an entry of several
 * parts once. Neither uses more memory than its parts. (Q3)
 */
import { assert } from '#base';
import { END_RANK, type Hits, type PostingEntry } from '#database';

/** `parts`: one or more, those with the fewest entries first. */
export function intersection(parts: readonly Hits[]): Hits {
  const [only] = parts;
  assert(only !== undefined, 'An intersection has one part or more');
  return parts.length === 1 ? only : new IntersectedHits(only, parts);
}

/** `parts`: one or more, in any order. */
export function union(parts: readonly Hits[]): Hits {
  const [only] = parts;
  assert(only !== undefined, 'A union has one part or more');
  return parts.length === 1 ? only : new UnitedHits(parts);
}

class IntersectedHits implements Hits {
  readonly #first: Hits;
  readonly #parts: readonly Hits[];
  /** The part that must be settled, when not ready. */
  #awaited: Hits;
  rank = Number.NEGATIVE_INFINITY;
  ready = false;

  constructor(first: Hits, parts: readonly Hits[]) {
    this.#first = first;
    this.#parts = parts;
    this.#awaited = first;
    for (const part of parts) this.rank = Math.max(this.rank, part.rank);
  }

  seek(rank: number): void {
    if (this.ready && rank <= this.rank) return;
    this.rank = Math.max(this.rank, rank);
    while (!this.#meet());
  }

  async settle(): Promise<void> {
    if (!this.#awaited.ready) await this.#awaited.settle();
    this.seek(this.rank);
  }

  entry(): PostingEntry {
    return this.#first.entry();
  }

  async release(): Promise<void> {
    for (const part of this.#parts) await part.release();
  }

  /** Moves every part to the rank. Returns false when a part moved beyond it, which raises the rank. */
  #meet(): boolean {
    this.ready = false;
    for (const part of this.#parts) {
      part.seek(this.rank);
      if (part.rank > this.rank) {
        this.rank = part.rank;
        return false;
      }
      if (!part.ready) {
        this.#awaited = part;
        return true;
      }
    }
    this.ready = true;
    return true;
  }
}

class UnitedHits implements Hits {
  /** A binary heap by rank: the parent of index n is (n − 1) >> 1. */
  readonly #heap: Hits[];
  rank: number;
  ready = false;

  constructor(parts: readonly Hits[]) {
    this.#heap = [...parts];
    for (let place = (parts.length >> 1) - 1; place >= 0; place--) this.#sink(place);
    this.rank = this.#top.rank;
  }

  seek(rank: number): void {
    if (this.ready && rank <= this.rank) return;
    let top = this.#top;
    while (top.rank < rank || !top.ready) {
      const before = top.rank;
      top.seek(Math.max(rank, before));
      // The lowest part needs the store: the walk waits for it.
      if (!top.ready && top.rank === before) break;
      this.#sink(0);
      top = this.#top;
    }
    this.rank = Math.max(rank, top.rank);
    this.ready = top.ready;
  }

  async settle(): Promise<void> {
    const top = this.#top;
    if (!top.ready) await top.settle();
    this.#sink(0);
    this.seek(this.rank);
  }

  entry(): PostingEntry {
    return this.#top.entry();
  }

  async release(): Promise<void> {
    for (const part of this.#heap) await part.release();
  }

  get #top(): Hits {
    const [top] = this.#heap;
    assert(top !== undefined, 'A union has one part or more');
    return top;
  }

  #sink(start: number): void {
    const heap = this.#heap;
    const sinking = heap[start];
    if (sinking === undefined) return;
    let place = start;
    for (;;) {
      const left = 2 * place + 1;
      const least = this.#rankAt(left + 1) < this.#rankAt(left) ? left + 1 : left;
      const child = heap[least];
      if (child === undefined || child.rank >= sinking.rank) break;
      heap[place] = child;
      place = least;
    }
    heap[place] = sinking;
  }

  #rankAt(place: number): number {
    return this.#heap[place]?.rank ?? END_RANK;
  }
}
