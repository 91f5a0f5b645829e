// Goal: a failing run is made as small as it fails in the same way, and no smaller; one that fails in another way, or
// passes, is never taken for it. Method: runs whose outcome follows from what is left in them.
import { describe, expect, it } from 'vitest';
import { minimise, replayCommand } from './minimise.ts';
import type { RunOptions, RunResult } from './scenario.ts';

const FAULTS = Array.from({ length: 20 }, (_, number) => number);
const OPERATIONS = 300;
const LOST = 'check 13: transaction 5 of 019b76da-0000-7000-8000-000000000001 is lost';
const TORN = 'check 1: the log of 019b76da-0000-7000-8000-000000000002 ends at 9';

/** What is wrong with a run of so much. */
type Outcome = (faults: ReadonlySet<number>, operations: number) => readonly string[];

function runner(outcome: Outcome): { readonly run: typeof runOf; readonly failing: RunResult } {
  const result = (faults: readonly number[], operations: number): RunResult =>
    ({
      seed: 7,
      nodes: 3,
      modes: { lanes: true, times: false },
      faults: faults.map((number) => ({ number })),
      operationCount: operations,
      problems: outcome(new Set(faults), operations),
    }) as unknown as RunResult;
  const runOf = async (_: number, { faults = FAULTS, operations = OPERATIONS }: RunOptions = {}): Promise<RunResult> =>
    result([...faults], operations);
  return { run: runOf, failing: result(FAULTS, OPERATIONS) };
}

describe('minimise', () => {
  it.each([
    ['one fault', [7], 1],
    ['two that need one another', [3, 16], 40],
    ['the first and the last', [0, 19], 300],
    ['none', [], 17],
  ])('leaves what is needed: %s', async (_what, needed, operationsMin) => {
    const { run, failing } = runner((faults, operations) =>
      needed.every((each) => faults.has(each)) && operations >= operationsMin ? [LOST] : [],
    );
    const small = await minimise(failing, 400, run);
    expect(small.faults).toEqual(needed);
    expect(small.result.problems).toEqual([LOST]);
    expect(small.operations).toBeGreaterThanOrEqual(operationsMin);
    expect(small.operations).toBeLessThan(Math.max(2 * operationsMin, 4));
    const list = needed.length === 0 ? 'none' : needed.join(',');
    expect(replayCommand(small)).toContain(`--seed 7 --nodes 3 --lanes --faults ${list} --operations`);
  });

  it('takes no run that fails in another way', async () => {
    // With fewer faults the other check fails first, and with none of these nothing does.
    const { run, failing } = runner((faults) => {
      if (!faults.has(4)) return [];
      return faults.has(5) && faults.has(6) ? [LOST] : [TORN];
    });
    const small = await minimise(failing, 400, run);
    expect([small.faults, small.result.problems]).toEqual([[4, 5, 6], [LOST]]);
  });

  it('takes a run that fails in the same way of another transaction', async () => {
    const { run, failing } = runner((faults) =>
      faults.has(9) ? [LOST.replace('transaction 5', `transaction ${faults.size}`)] : [],
    );
    expect((await minimise(failing, 400, run)).faults).toEqual([9]);
  });

  it('runs no more often than it is told to, and gives the smallest that it has found', async () => {
    const { run, failing } = runner((faults) => (faults.has(11) ? [LOST] : []));
    const small = await minimise(failing, 10, run);
    expect(small.runs).toBe(10);
    expect(small.faults).toContain(11);
    expect(small.result.problems).toEqual([LOST]);
  });
});
