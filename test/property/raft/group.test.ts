// Goal: with any loss, repetition, delay and crash a group keeps its invariants and no read is stale; without faults it
// settles. Method: random schedules with one to five voters among five replicas.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { RandomGroup, type Schedule, schedule } from '../../support/raft/random-group.ts';
import { runs } from '../../support/runs.ts';

/**
 * Schedules that once failed. In this one, a leader commits a joint membership with the voters before it, and all
 * replicas learn of that before the majority of the incoming voters has it on disk.
 */
const JOINT_LEARNED_BEFORE_IT_IS_HELD: Schedule = {
  members: 5,
  actions: [
    ['campaign', 1, 0],
    ['settle', 0, 0],
    ['change', 0, 328],
    ['write', 1, 0],
    ['deliver', 0, 411],
    ['write', 4, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['write', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
    ['deliver', 0, 0],
  ].map(([kind, who, at]) => ({ kind: String(kind), who: Number(who), at: Number(at) })),
};

const RUNS = runs(150);

it('a group of several replicas keeps R1 to R14 and G1 to G8 under any schedule, and recovers from it', () => {
  fc.assert(
    fc.property(schedule, ({ members, actions }) => {
      const group = new RandomGroup(members);
      for (const action of actions) group.run(action);
      group.heal();
      expect(group.leaders).toHaveLength(1);
      expect(new Set(group.machines).size).toBe(1);
      expect(group.openReads).toBe(0);
    }),
    { numRuns: RUNS, examples: [[JOINT_LEARNED_BEFORE_IT_IS_HELD]] },
  );
});
