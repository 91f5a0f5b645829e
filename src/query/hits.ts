/**
 * A walk over index entries in the order of their ranks: one posting list, or lists combined.
 *
 * What is in memory is walked synchronously; only reading more of a list is not. A walk that cannot go on without the
 * store is not `ready`: its rank is then only the least that its next entry can have, which is often all that somebody
 * who combines it with others needs to know. Whoever needs the entry itself awaits `settle`. (Q3)
 */
import type { PostingEntry } from '#database';

export interface Hits {
  /** Of the next entry when `ready`, else at most that. `END_RANK` when there is none. Never goes down. */
  readonly rank: number;
  readonly ready: boolean;
  /** Moves to the first entry at or above `rank`, as far as memory goes. Never moves back. */
  seek(rank: number): void;
  /** Reads what `seek` lacked. One step: the walk may still not be ready, but it has come closer. */
  settle(): Promise<void>;
  /** The next entry. Only when `ready` and not at the end. */
  entry(): PostingEntry;
  /** Gives back what the walk holds of the store; it goes on from where it is when it is used again. */
  release(): Promise<void>;
}

/** Moves until the rank is exact. */
export async function settled(hits: Hits): Promise<number> {
  while (!hits.ready) await hits.settle();
  return hits.rank;
}
