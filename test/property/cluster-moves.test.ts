// Goal: members come and go while networks lose and processes forget: in the end every group is what it was last wanted
// to be, its members are the same, and nothing that was answered is lost. Method: the random schedules of
// cluster-replicas, over five nodes, with changes of the wanted membership among them, or with moves from nodes to
// others and back.

import { describe, expect, it } from 'vitest';
import { databaseKit, toyKit } from '../support/cluster/machine-kit.ts';
import { movingAction, placingAction } from '../support/cluster/replica-actions.ts';
import { runSchedules } from '../support/cluster/schedules.ts';

describe('groups whose members change', () => {
  it.each([
    ['members and the small machines', { kit: toyKit, actions: movingAction, numRuns: 40 }],
    ['members and the real machines', { kit: databaseKit, actions: movingAction, numRuns: 10 }],
    ['copies and the small machines', { kit: toyKit, actions: placingAction, numRuns: 40 }],
    ['copies and the real machines', { kit: databaseKit, actions: placingAction, numRuns: 20 }],
  ])(
    'reach what they are wanted to be, and lose nothing, with %s (C2, C11, C13, C17, D15)',
    async (_name, { numRuns, ...schedules }) => {
      const counts = await runSchedules({ nodeCount: 5, numRuns, ...schedules });
      // The schedules were not in vain.
      expect(counts.committed).toBeGreaterThan(numRuns);
      expect(counts.read).toBeGreaterThan(numRuns / 2);
      expect(counts.moves).toBeGreaterThan(numRuns);
      expect(counts.crashes).toBeGreaterThan(numRuns);
    },
    120_000,
  );
});
