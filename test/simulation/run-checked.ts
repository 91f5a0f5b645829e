/** Runs a seed of the test suite, and reports a problem when a check of its history ends undecided. */
import { type RunOptions, type RunResult, runSeed } from './scenario.ts';

/** Seeds after the named one that are tried, too. */
const MORE_SEEDS = 4;

export interface ShownRun extends RunResult {
  readonly lines: readonly string[];
}

/** Reports undecided checks as problems, because they prove nothing. */
export async function runChecked(seed: number, options: Omit<RunOptions, 'unchecked'>): Promise<RunResult> {
  const result = await runSeed(seed, options);
  if (result.undecided === 0) return result;
  return { ...result, problems: [...result.problems, `undecided: ${result.undecided}`] };
}

/**
 * The first run, from this seed on, that shows rare behaviour or has problems; the last one if none of a few does. Each
 * change of the store shifts what a seed shows.
 */
export async function firstShowing(
  seed: number,
  options: Omit<RunOptions, 'unchecked' | 'listener'>,
  isShown: (run: ShownRun) => boolean,
): Promise<ShownRun> {
  for (let at = seed; ; at++) {
    const lines: string[] = [];
    const result = await runChecked(at, { ...options, listener: (line) => void lines.push(line) });
    const run = { ...result, lines };
    if (at === seed + MORE_SEEDS || run.problems.length > 0 || isShown(run)) return run;
  }
}
