// Seeds of the test suite as rows of a table: the options of a run, and lines that must appear in it. Each runs with
// the invariants of #raft after every step, and no check of its history may end undecided.
import { describe, expect, it } from 'vitest';
import { firstShowing, runChecked, type ShownRun } from './run-checked.ts';
import type { RunOptions } from './scenario.ts';

export interface Row extends Omit<RunOptions, 'unchecked' | 'listener'> {
  /** Behaviour that the seed shows, or the bug that it has found. */
  readonly why?: string;
  /** Lines that must appear at least this often, or once. */
  readonly shows?: readonly (RegExp | readonly [line: RegExp, times: number])[];
}

/** A table of seeds with their options. */
export type Rows = readonly (readonly [seed: number, row: Row])[];

const SEED_MS_MAX = 60_000;

/** Consecutive seeds with the same options. */
export function seedsFrom(first: number, count: number, row: Row): Rows {
  return Array.from({ length: count }, (_, place) => [first + place, row]);
}

/** Creates a test for each seed. */
export function describeSeeds(what: string, rows: Rows): void {
  const named = rows.map(([seed, row]) => [seed, wordsOf(row), row] as const);
  describe(`the simulation with ${what}`, () => {
    it.each(named)(
      'holds every check with seed %i on %s',
      async (seed, _words, { why: _why, shows = [], ...options }) => {
        const missing = ({ lines }: ShownRun) =>
          shows.filter((each) => {
            const [shown, times] = each instanceof RegExp ? ([each, 1] as const) : each;
            return lines.filter((line) => shown.test(line)).length < times;
          });
        // Lines are only formatted when the row expects some.
        const run =
          shows.length === 0
            ? { ...(await runChecked(seed, options)), lines: [] }
            : await firstShowing(seed, options, (each) => missing(each).length === 0);
        expect([run.problems, missing(run)]).toEqual([[], []]);
      },
      SEED_MS_MAX,
    );
  });
}

function wordsOf({ nodes, why, ...options }: Row): string {
  const modes = Object.entries(options).flatMap(([mode, value]) => (value === true ? [mode] : []));
  return `${nodes} nodes${modes.map((mode) => `, ${mode}`).join('')}${why === undefined ? '' : `: ${why}`}`;
}
