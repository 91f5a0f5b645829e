// Goal: members come and go while networks lose and processes forget: in the end every group is what it was last wanted to
// be, its members are the same, and nothing that was answered is lost. Method: the random schedules of cluster-replicas,
// over five nodes, with changes of the wanted membership among them, or with moves from nodes to others and back.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { databaseKit, toyKit } from '../support/cluster/machine-kit.ts';
import { movingAction, placingAction } from '../support/cluster/replica-actions.ts';
import { ReplicaModel } from '../support/cluster/replica-model.ts';

describe('groups whose members change', () => {
  it.each([
    ['members and the small machines', { kit: toyKit, actions: movingAction, numRuns: 40 }],
    ['members and the real machines', { kit: databaseKit, actions: movingAction, numRuns: 10 }],
    ['copies and the small machines', { kit: toyKit, actions: placingAction, numRuns: 40 }],
    ['copies and the real machines', { kit: databaseKit, actions: placingAction, numRuns: 20 }],
  ])(
    'reach what they are wanted to be, and lose nothing, with %s (C2, C11, C13, C15, D15)',
    async (_name, { kit, actions: alphabet, numRuns }) => {
      const counts = { committed: 0, read: 0, crashes: 0, moves: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.array(alphabet, { minLength: 30, maxLength: 70, size: 'max' }),
          fc.integer({ min: 1, max: 2 ** 31 }),
          async (actions, seed) => {
            const model = await ReplicaModel.started(5, kit, seed);
            for (const each of actions) await model.run(each);
            await model.recover();
            expect(model.faults).toEqual([]);
            for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += model.counts[name];
          },
        ),
        { numRuns },
      );
      // The schedules were not in vain.
      expect(counts.committed).toBeGreaterThan(numRuns);
      expect(counts.read).toBeGreaterThan(numRuns / 2);
      expect(counts.moves).toBeGreaterThan(numRuns);
      expect(counts.crashes).toBeGreaterThan(numRuns);
    },
    120_000,
  );
});
