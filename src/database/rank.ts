/**
 * A position in a walk as one number.
 *
 * A position (revision, index) becomes revision × 1024 + index, negated in a downward walk: in either direction a walk
 * is then an increasing sequence of integers, the next position is the rank after the last, and a merge compares
 * numbers.
 */
import { assert } from '#base';
import type { Direction, Position } from '#model';

/** More than the events of a transaction (1,000), and a power of two. */
const INDEXES = 1024;
/** The highest index that a rank can represent; no event has it. */
export const INDEX_MAX: number = INDEXES - 1;
const REVISION_MAX = Math.floor(Number.MAX_SAFE_INTEGER / INDEXES) - 1;

/** The rank of the end: above every event. */
export const END_RANK: number = Number.POSITIVE_INFINITY;

export function rankOf(revision: number, index: number, direction: Direction): number {
  assert(revision <= REVISION_MAX, 'A revision that is ranked is below 2^43', revision);
  const place = revision * INDEXES + index;
  return direction === 'forward' ? place : -place;
}

/** The position of a rank, also of ranks that no event has, such as those with index 1023. */
export function positionOf(rank: number): Position {
  const place = Math.abs(rank);
  const index = place % INDEXES;
  return { revision: (place - index) / INDEXES, index };
}

/** Ranks of all events in the revisions `[first, last]`, both inclusive, in the order of the direction. */
export interface RankRange {
  readonly direction: Direction;
  /** Inclusive. */
  readonly first: number;
  /** Inclusive; below `first` when the range is empty. */
  readonly last: number;
}

export function rankRange(first: number, last: number, direction: Direction): RankRange {
  const lowest = rankOf(first, 0, direction);
  const highest = rankOf(last, INDEX_MAX, direction);
  return direction === 'forward'
    ? { direction, first: lowest, last: highest }
    : { direction, first: highest, last: lowest };
}
