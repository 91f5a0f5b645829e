/**
 * A walk over index entries in the order of their ranks: one posting list, or a combination of lists.
 *
 * Entries in memory are walked synchronously; reading more of a list is asynchronous. A walk that needs the store is
 * not `ready`: its rank is then a lower bound of its next entry, which is often enough to combine it with others. A
 * caller that needs the entry itself awaits `settle`.
 */
import type { PostingEntry } from './posting.ts';

export interface Hits {
  /** Rank of the next entry when `ready`, else a lower bound. `END_RANK` at the end. Never decreases. */
  readonly rank: number;
  readonly ready: boolean;
  /** Moves to the first entry at or above `rank`, as far as the entries in memory allow. Never moves back. */
  seek(rank: number): void;
  /** Reads the entries that `seek` lacked, in one step: the walk may still not be ready, but it is closer. */
  settle(): Promise<void>;
  /** The next entry. Call it only when `ready` and not at the end. */
  entry(): PostingEntry;
  /** Releases resources of the store; the walk continues from its position when it is used again. */
  release(): Promise<void>;
}

/** Settles until the rank is exact. */
export async function settled(hits: Hits): Promise<number> {
  while (!hits.ready) await hits.settle();
  return hits.rank;
}
