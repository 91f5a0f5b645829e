/** The events of index entries, in the order of the entries. */
import type { DatabaseReader, PostingEntry, StoredEvent } from '#database';
import { Candidates, type EventChunks, Slice } from './event-chunks.ts';
import type { EventTest } from './event-test.ts';
import type { Hits } from './hits.ts';
import { END_RANK } from './rank.ts';
import type { SlicePace } from './slice-pace.ts';

export interface HitEventsOptions {
  readonly hits: Hits;
  /** Test of each candidate; absent when the index is exact. */
  readonly test: EventTest | undefined;
  readonly pace: SlicePace;
}

/** Reads of the store for one slice, each of which may return some thousand entries. */
const SLICE_READS = 64;

export class HitEvents implements EventChunks {
  readonly #options: HitEventsOptions;
  readonly #candidates: Candidates;
  /** Entries that are found and in no slice yet. */
  readonly #found: PostingEntry[] = [];

  constructor(reader: DatabaseReader, options: HitEventsOptions) {
    this.#options = options;
    this.#candidates = new Candidates(reader);
  }

  get isOver(): boolean {
    return this.#found.length === 0 && this.#options.hits.rank === END_RANK;
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    const { hits, test, pace } = this.#options;
    const slice = new Slice(left, pace);
    for (let readsLeft = SLICE_READS; !slice.full; ) {
      readsLeft -= await this.#find(this.#candidates.roomIn(slice, test), readsLeft);
      if (this.#found.length === 0) break;
      this.#found.splice(0, await this.#candidates.readInto(slice, this.#found, test));
    }
    await hits.release();
    return this.isOver && slice.events.length === 0 ? undefined : slice.events;
  }

  /** Finds entries until there are `count`. Returns the number of reads that it took. */
  async #find(count: number, readsMax: number): Promise<number> {
    const { hits } = this.#options;
    let reads = 0;
    while (this.#found.length < count && hits.rank !== END_RANK) {
      if (hits.ready) {
        this.#found.push(hits.entry());
        hits.seek(hits.rank + 1);
      } else {
        // Lists with few common events need long walks without a match, so the slice ends here.
        if (reads === readsMax) break;
        await hits.settle();
        reads++;
      }
    }
    return reads;
  }
}
