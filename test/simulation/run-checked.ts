/** A seed of the suite: with nothing left undecided. */
import { type RunOptions, type RunResult, runSeed } from './scenario.ts';

/** What was not decided is a problem, too: it proves nothing. */
export async function runChecked(seed: number, options: Omit<RunOptions, 'unchecked'>): Promise<RunResult> {
  const result = await runSeed(seed, options);
  if (result.undecided === 0) return result;
  return { ...result, problems: [...result.problems, `undecided: ${result.undecided}`] };
}
