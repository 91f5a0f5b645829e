/**
 * A query for events, independent of the interface.
 *
 * Ranges are inclusive at both ends (ADR: ranges). With an effective-time range the order is by effective time, ties by
 * position; otherwise by position. `after` is exclusive, in the direction of the query.
 */
import { compareInstants, formatInstant, type Instant } from '#base';
import type { Faults } from './faults.ts';
import type { Selector } from './selector.ts';

export type Direction = 'forward' | 'reverse';

/** The position of an event in a database; unique and totally ordered. */
export interface Position {
  readonly revision: number;
  /** 0-based index in the transaction. */
  readonly index: number;
}

/** A position that a request names; as such it may lie beyond every database. */
export interface AskedPosition {
  readonly revision: number | bigint;
  readonly index: number;
}

export function comparePositions(left: Position, right: Position): number {
  return left.revision === right.revision ? left.index - right.index : left.revision - right.revision;
}

/** Both ends inclusive; an absent end is open. */
export interface RevisionBounds {
  readonly start?: number | bigint | undefined;
  readonly end?: number | bigint | undefined;
}

/** Both ends inclusive; an absent end is open. */
export interface EffectiveTimeBounds {
  readonly start?: Instant | undefined;
  readonly end?: Instant | undefined;
}

export interface EventQuery {
  readonly selector: Selector;
  readonly revisions: RevisionBounds;
  /** When present, even with both ends open, it sets the order. */
  readonly effectiveTime?: EffectiveTimeBounds | undefined;
  readonly direction: Direction;
  /** Absent: no limit. */
  readonly limit?: number | undefined;
  readonly after?: Position | undefined;
}

/** Adds a fault, at the given path, for each range whose end lies before its start. */
export function checkBounds(
  { revisions, effectiveTime }: EventQuery,
  paths: { readonly revisions: string; readonly effectiveTime: string },
  faults: Faults,
): void {
  const rule = 'must have its start at or before its end';
  if (revisions.start !== undefined && revisions.end !== undefined && revisions.start > revisions.end) {
    faults.add(paths.revisions, rule, { said: `${revisions.start} to ${revisions.end}` });
  }
  const { start, end } = effectiveTime ?? {};
  if (start !== undefined && end !== undefined && compareInstants(start, end) > 0) {
    faults.add(paths.effectiveTime, rule, { said: `${formatInstant(start)} to ${formatInstant(end)}` });
  }
}
