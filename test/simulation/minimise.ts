// Reduces a failing run: removes faults and operations as long as it fails in the same way. A removed part changes
// nothing else, because every part of the world has its own random stream.
import { MODES } from './modes.ts';
import { type RunResult, runSeed } from './scenario.ts';

export interface SmallRun {
  readonly result: RunResult;
  /** The required faults. */
  readonly faults: readonly number[];
  readonly operations: number;
  readonly runs: number;
}

const RUNS_MAX = 80;

/** Runs the seed at most `RUNS_MAX` times. */
export async function minimise(failing: RunResult): Promise<SmallRun> {
  let best: SmallRun = {
    result: failing,
    faults: failing.faults.map(({ number }) => number),
    operations: failing.operationCount,
    runs: 0,
  };
  const attempt = async (faults: readonly number[], operations: number): Promise<boolean> => {
    if (best.runs >= RUNS_MAX) return false;
    const { seed, nodes, modes } = failing;
    const result = await runSeed(seed, { nodes, ...modes, faults, operations });
    const isSame = kindOf(result) === kindOf(failing);
    best = isSame ? { result, faults, operations, runs: best.runs + 1 } : { ...best, runs: best.runs + 1 };
    return isSame;
  };
  for (let share = 2; share <= best.operations && best.runs < RUNS_MAX / 4; ) {
    const fewer = Math.floor(best.operations * (1 - 1 / share));
    if (fewer === best.operations || !(await attempt(best.faults, fewer))) share *= 2;
  }
  // All faults, halves of them, quarters, and so on, down to single ones.
  for (let size = best.faults.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = best.faults.length - size; at >= 0; at -= size) {
      await attempt(best.faults.toSpliced(at, size), best.operations);
    }
  }
  return best;
}

/** The failed check, or how the run ended without one; undefined when nothing failed. */
function kindOf({ problems }: RunResult): string | undefined {
  const [first] = problems;
  return first === undefined ? undefined : first.replaceAll(/[0-9a-f-]{36}|#?\d+/g, 'n').slice(0, 24);
}

/** Command that repeats the reduced run. */
export function replayCommand({ result, faults, operations }: SmallRun): string {
  const list = faults.length === 0 ? 'none' : faults.join(',');
  return `${seedCommand(result)} --faults ${list} --operations ${operations}`;
}

/** Command that repeats the whole seed. */
export function seedCommand({ seed, nodes, modes }: RunResult): string {
  const given = MODES.filter((mode) => modes[mode] === true).map((mode) => ` --${mode}`);
  return `npm run sim -- --seed ${seed} --nodes ${nodes}${given.join('')}`;
}
