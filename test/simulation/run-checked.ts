/** Runs a seed of the test suite, and reports a problem when a check of its history ends undecided. */
import { type RunOptions, type RunResult, runSeed } from './scenario.ts';

/** Reports undecided checks as problems, because they prove nothing. */
export async function runChecked(seed: number, options: Omit<RunOptions, 'unchecked'>): Promise<RunResult> {
  const result = await runSeed(seed, options);
  if (result.undecided === 0) return result;
  return { ...result, problems: [...result.problems, `undecided: ${result.undecided}`] };
}
