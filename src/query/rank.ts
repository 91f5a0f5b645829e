/**
 * One number for where an event comes in a walk.
 *
 * A position (revision, index) becomes revision × 1024 + index, negated when the walk goes down: in either direction a
 * walk is then a sequence of growing integers, its next place is the rank after the last, and merging two walks is a
 * comparison of two numbers.
 */
import { assert } from '#base';
import type { Direction, Position } from '#model';

/** More than the events of a transaction (1,000), and a power of two. */
const INDEXES = 1024;
/** The highest index that a rank can tell; no event has it. */
export const INDEX_MAX: number = INDEXES - 1;
const REVISION_MAX = Math.floor(Number.MAX_SAFE_INTEGER / INDEXES) - 1;

/** The rank of the end: above that of every event. */
export const END_RANK: number = Number.POSITIVE_INFINITY;

export function rankOf(revision: number, index: number, direction: Direction): number {
  assert(revision <= REVISION_MAX, 'A revision that is ranked is below 2^43', revision);
  const place = revision * INDEXES + index;
  return direction === 'forward' ? place : -place;
}

/** The position of a rank. Ranks that no event has, such as that of index 1023, have one too. */
export function positionOf(rank: number): Position {
  const place = Math.abs(rank);
  const index = place % INDEXES;
  return { revision: (place - index) / INDEXES, index };
}

/** The ranks of all events whose revisions are in `[first, last]`, both inclusive, in the order of the direction. */
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
