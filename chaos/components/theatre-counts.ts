/** How much those were told who use components: a run in which there was too little of it has found nothing. */
import type { SaleOutcome, SeatsHistory } from './seats-history.ts';

export interface TheatreCounts {
  readonly sold: number;
  /** Of these: what was there when it was asked for again. */
  readonly replayed: number;
  readonly full: number;
  readonly taken: number;
  readonly conflict: number;
  readonly shown: number;
  readonly unknown: number;
}

/** Of each so many a minute at least: far below what a run comes to. */
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

/** What there was too little of. */
export function theatreShortfalls(counts: TheatreCounts, minutes: number): readonly string[] {
  const kinds = Object.entries(A_MINUTE) as readonly [keyof typeof A_MINUTE, number][];
  return kinds.flatMap(([kind, rate]) => {
    const min = Math.floor(rate * minutes);
    return counts[kind] >= min
      ? []
      : [`components, ${kind}: ${counts[kind]} in the run, which was to have ${min} or more`];
  });
}
