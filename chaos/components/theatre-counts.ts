/**
 * Counts the answers to clients of components, and reports counts below their minimum: a run with too few of them finds
 * nothing.
 */
import type { SaleOutcome, SeatsHistory } from './seats-history.ts';

export interface TheatreCounts {
  readonly sold: number;
  /** Sales among `sold` that were already stored when they were sent again. */
  readonly replayed: number;
  readonly full: number;
  readonly taken: number;
  readonly conflict: number;
  readonly shown: number;
  readonly unknown: number;
}

/** Minimum per minute, far below the actual number. */
const A_MINUTE = { sold: 15, full: 1, taken: 1, shown: 15 } as const;

export function theatreCounts({ sales, shows }: SeatsHistory): TheatreCounts {
  const outcomes = sales.map(({ outcome }) => outcome);
  const all = [...outcomes, ...shows.map(({ outcome }) => outcome)];
  const count = (is: (outcome: SaleOutcome) => boolean): number => outcomes.filter(is).length;
  return {
    sold: count(({ kind }) => kind === 'sold'),
    replayed: count((outcome) => outcome.kind === 'sold' && outcome.isReplayed),
    full: count((outcome) => outcome.kind === 'refused' && outcome.reason === 'full'),
    taken: count((outcome) => outcome.kind === 'refused' && outcome.reason === 'taken'),
    conflict: count(({ kind }) => kind === 'conflict'),
    shown: all.filter(({ kind }) => kind === 'shown').length,
    unknown: all.filter(({ kind }) => kind === 'unknown').length,
  };
}

/** Returns a problem for each count below its minimum. */
export function theatreShortfalls(counts: TheatreCounts, minutes: number): readonly string[] {
  const kinds = Object.entries(A_MINUTE) as readonly [keyof typeof A_MINUTE, number][];
  return kinds.flatMap(([kind, rate]) => {
    const min = Math.floor(rate * minutes);
    return counts[kind] >= min
      ? []
      : [`components, ${kind}: ${counts[kind]} in the run, which was to have ${min} or more`];
  });
}
