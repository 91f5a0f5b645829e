// Seeds of the suite as rows of a table: what a run has, and what must be seen to happen in it. Each runs with the
// invariants of #raft after every step, and nothing may be left undecided.
import { describe, expect, it } from 'vitest';
import { runChecked } from './run-checked.ts';
import type { RunOptions } from './scenario.ts';

export interface Row extends Omit<RunOptions, 'unchecked' | 'listener'> {
  /** What the seed shows, or once found. */
  readonly why?: string;
  /** Lines that are there, each at least so often, or once. */
  readonly shows?: readonly (RegExp | readonly [line: RegExp, times: number])[];
}

/** A table by seed and what else the run has. */
export type Rows = readonly (readonly [seed: number, row: Row])[];

const SEED_MS_MAX = 60_000;

/** So many seeds in a row, all of them alike. */
export function seedsFrom(first: number, count: number, row: Row): Rows {
  return Array.from({ length: count }, (_, place) => [first + place, row]);
}

/** A test of each seed. */
export function describeSeeds(what: string, rows: Rows): void {
  const named = rows.map(([seed, row]) => [seed, wordsOf(row), row] as const);
  describe(`the simulation with ${what}`, () => {
    it.each(named)(
      'holds every check with seed %i on %s',
      async (seed, _words, { why: _why, shows = [], ...options }) => {
        const lines: string[] = [];
        // What happens is put into words only where somebody looks for it.
        const listener = (line: string): void => void lines.push(line);
        const { problems } = await runChecked(seed, shows.length === 0 ? options : { ...options, listener });
        expect(problems).toEqual([]);
        for (const each of shows) {
          const [shown, times] = each instanceof RegExp ? ([each, 1] as const) : each;
          const count = lines.filter((line) => shown.test(line)).length;
          expect([shown, Math.min(count, times)]).toEqual([shown, times]);
        }
      },
      SEED_MS_MAX,
    );
  });
}

function wordsOf({ nodes, why, ...options }: Row): string {
  const modes = Object.entries(options).flatMap(([mode, value]) => (value === true ? [mode] : []));
  return `${nodes} nodes${modes.map((mode) => `, ${mode}`).join('')}${why === undefined ? '' : `: ${why}`}`;
}
