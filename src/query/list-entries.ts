/** The index entries of the combined lists of a plan, in the order of position, a bounded number at a time. */
import { END_RANK, type Hits, type PostingEntry } from '#database';

/** Limits of one step: entries, and reads of the store, each of which may skip a thousand more. */
const STEP_ENTRIES = 16_384;
const STEP_READS = 32;

/** Offers the next entries: up to so many, in so many reads at most. Returns the number of reads. */
export async function offerHits(
  hits: Hits,
  { entriesMax, readsMax }: { readonly entriesMax: number; readonly readsMax: number },
  offer: (entry: PostingEntry) => void,
): Promise<number> {
  let reads = 0;
  for (let entries = 0; entries < entriesMax && hits.rank !== END_RANK; ) {
    if (hits.ready) {
      offer(hits.entry());
      hits.seek(hits.rank + 1);
      entries++;
    } else if (reads === readsMax) {
      break;
    } else {
      await hits.settle();
      reads++;
    }
  }
  return reads;
}

export class ListEntries {
  readonly #hits: Hits;

  constructor(hits: Hits) {
    this.#hits = hits;
  }

  /** Offers the next entries. Returns false at the end. */
  async step(offer: (entry: PostingEntry) => void): Promise<boolean> {
    await offerHits(this.#hits, { entriesMax: STEP_ENTRIES, readsMax: STEP_READS }, offer);
    return this.#hits.rank !== END_RANK;
  }

  /** Releases resources of the store; the walk continues from its position when it is used again. */
  release(): Promise<void> {
    return this.#hits.release();
  }
}
