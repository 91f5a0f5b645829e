/**
 * Random schedules over a database on several nodes, each until everything is whole again, and what came of all of
 * them.
 */
import * as fc from 'fast-check';
import type { CoreLimits } from '#cluster';
import type { MachineKit } from './machine-kit.ts';
import type { Action } from './replica-actions.ts';
import { type Counts, ReplicaModel } from './replica-model.ts';

export interface Schedules {
  readonly nodeCount: number;
  readonly kit: MachineKit;
  /** What can happen. */
  readonly actions: fc.Arbitrary<Action>;
  /** How much happens, default 30 to 70. */
  readonly length?: { readonly minLength: number; readonly maxLength: number };
  /** Default: the log keeps everything. */
  readonly limits?: Partial<CoreLimits>;
  readonly numRuns: number;
}

/** Of all runs; `letters` are those of snapshots. */
export type ScheduleCounts = Counts & { readonly letters: number };

/** Throws, with the shortest schedule that does it, when a schedule breaks what `ReplicaModel` holds against it. */
export async function runSchedules(schedules: Schedules): Promise<ScheduleCounts> {
  const { nodeCount, kit, actions, length = { minLength: 30, maxLength: 70 }, limits, numRuns } = schedules;
  const counts = { committed: 0, forwarded: 0, lost: 0, unknown: 0, read: 0, crashes: 0, moves: 0, letters: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(actions, { ...length, size: 'max' }),
      fc.integer({ min: 1, max: 2 ** 31 }),
      async (schedule, seed) => {
        const model = await ReplicaModel.started(nodeCount, kit, seed, limits);
        for (const each of schedule) await model.run(each);
        await model.recover();
        if (model.faults.length > 0) throw new Error(model.faults.join('\n'));
        const { letters } = model.world.network.counts;
        const seen: ScheduleCounts = { ...model.counts, letters };
        for (const name of Object.keys(counts) as (keyof ScheduleCounts)[]) counts[name] += seen[name];
      },
    ),
    { numRuns },
  );
  return counts;
}
