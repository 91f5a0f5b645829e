// Goal: after any edits, faults, lagging caches and kills of the operator, a cluster converges to its spec, and the
// plan is empty then; no safety rule is broken on the way.
// Method: random runs of the simulation by seeds. Seeds that found a fault stay in the list.
import { expect, it } from 'vitest';
import { runs } from '../../support/runs.ts';
import { calm, disturb } from './model/disturbances.ts';
import { Run } from './model/run.ts';

const DISTURBANCES = 10;
const STEPS_BETWEEN = 80;
const STEPS_TO_CONVERGE = 1_500;
/** Seeds of found faults. */
const FOUND: readonly number[] = [38, 46, 137];

async function randomRun(seed: number): Promise<void> {
  const run = new Run(seed, {}, { stalePercent: 20, killPercent: 10 });
  const { chance } = run.runtime;
  for (let count = 0; count < DISTURBANCES; count += 1) {
    await run.until(() => false, chance.below(STEPS_BETWEEN));
    disturb(run);
  }
  calm(run);
  const generation = run.cluster?.metadata.generation;
  const isDone = await run.until(
    () => run.isStable && run.cluster?.status.observedGeneration === generation,
    STEPS_TO_CONVERGE,
  );
  const context = { seed, log: run.log.slice(-40) };
  expect({ ...context, violations: run.safety.violations }).toEqual({ ...context, violations: [] });
  expect(isDone ? 'stable' : { ...context, conditions: run.cluster?.status?.conditions }).toBe('stable');
  expect([...run.cairn.processes.values()].filter(({ isDraining }) => isDraining)).toEqual([]);
  const { writes } = run.kube;
  await run.until(() => false, 20);
  expect({ ...context, writes: run.kube.writes }).toEqual({ ...context, writes });
}

it.each([...new Set([...FOUND, ...Array.from({ length: runs(90) }, (_, seed) => seed + 1)])])(
  'converges and keeps the safety rules in the random run %i (KC1, KC2, KC3, KC4, KC5, KC6, KC7, KC8)',
  randomRun,
);
