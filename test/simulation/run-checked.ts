/** A seed of the suite: with the invariants of `#raft` after every step, and with nothing left undecided. */
import { type RunOptions, type RunResult, runSeed } from './scenario.ts';

/** What was not decided is a problem, too: it proves nothing. */
export async function runChecked(seed: number, options: Omit<RunOptions, 'steps'>): Promise<RunResult> {
  const result = await runSeed(seed, { ...options, steps: true });
  if (result.undecided === 0) return result;
  return { ...result, problems: [...result.problems, `undecided: ${result.undecided}`] };
}
