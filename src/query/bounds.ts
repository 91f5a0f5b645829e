/** The range that a walk may return: revisions, a direction, and the event that it continues after; and its cost. */
import { nearestRevision } from '#base';
import { type DatabaseReader, INDEX_MAX, type RankRange, rankOf, rankRange } from '#database';
import type { Direction, Position, RevisionBounds } from '#model';

export interface Bounds {
  readonly direction: Direction;
  /** Revisions, both inclusive; empty when `first` is above `last`. */
  readonly first: number;
  readonly last: number;
  /** The same range, narrowed by the event that a walk continues after. */
  readonly ranks: RankRange;
}

export interface BoundsOf {
  /** The revision of the read. */
  readonly at: number;
  readonly revisions: RevisionBounds;
  readonly direction: Direction;
  /** Only events after it, in the direction. */
  readonly after?: Position | undefined;
}

/** Each bound narrows the revisions 1 to `at`: `max(1, start, after)`, `min(at, end, after)`. */
export function boundsOf({ at, revisions, direction, after }: BoundsOf): Bounds {
  const isForward = direction === 'forward';
  const from = after === undefined ? undefined : Math.min(after.revision, at + 1);
  const start = Math.max(1, nearestRevision(revisions.start ?? 1), isForward ? (from ?? 1) : 1);
  const first = Math.min(start, at + 1);
  const last = Math.min(nearestRevision(revisions.end ?? at), at, isForward ? at : (from ?? at));
  const ranks = rankRange(first, last, direction);
  if (after === undefined || from === undefined) return { direction, first, last, ranks };
  const next = rankOf(from, Math.min(after.index, INDEX_MAX), direction) + 1;
  return { direction, first, last, ranks: { ...ranks, first: Math.max(ranks.first, next) } };
}

export function isEmpty(bounds: Bounds): boolean {
  return bounds.first > bounds.last || bounds.ranks.first > bounds.ranks.last;
}

/** The bounds without the revisions above one. */
export function upTo(bounds: Bounds, revision: number): Bounds {
  if (revision >= bounds.last) return bounds;
  const { direction, first, ranks } = bounds;
  const range = rankRange(first, revision, direction);
  const within = { direction, first: Math.max(ranks.first, range.first), last: Math.min(ranks.last, range.last) };
  return { direction, first, last: revision, ranks: within };
}

/** Bytes of the history that cost as much to walk as reading a head, or a row of an index. */
const BYTES_PER_ROW = 2048;

/** Cost of walking the history in the revisions of the bounds, in rows of an index. Reads two rows. */
export function historyCost(reader: DatabaseReader, { first, last }: Pick<Bounds, 'first' | 'last'>): number {
  return (reader.end(last) - reader.start(first)) / BYTES_PER_ROW;
}
