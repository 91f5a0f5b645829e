/** The index entries of the combined lists of a plan, in the order of position, a bounded number at a time. */
import type { PostingEntry } from '#database';
import type { Hits } from './hits.ts';
import { END_RANK } from './rank.ts';

/** Limits of one step: entries, and reads of the store, each of which may skip a thousand more. */
const STEP_ENTRIES = 16_384;
const STEP_READS = 32;

export class ListEntries {
  readonly #hits: Hits;

  constructor(hits: Hits) {
    this.#hits = hits;
  }

  /** Offers the next entries. Returns false at the end. */
  async step(offer: (entry: PostingEntry) => void): Promise<boolean> {
    const hits = this.#hits;
    for (let entries = 0, reads = 0; entries < STEP_ENTRIES && reads < STEP_READS; ) {
      if (!hits.ready) {
        await hits.settle();
        reads++;
      } else if (hits.rank === END_RANK) {
        return false;
      } else {
        offer(hits.entry());
        entries++;
        hits.seek(hits.rank + 1);
      }
    }
    return true;
  }

  /** Releases resources of the store; the walk continues from its position when it is used again. */
  release(): Promise<void> {
    return this.#hits.release();
  }
}
