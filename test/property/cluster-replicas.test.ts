// Goal: whatever networks lose and processes forget, nothing that was answered is lost, nothing that was refused for good
// appears, every read sees what was answered before it, and in the end all replicas are the same. Method: random
// schedules of writes, reads, losses, cuts, crashes with torn logs and stores with holes, and clocks that stand still,
// over three and five nodes, against a model of what was answered.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { databaseKit, toyKit } from '../support/cluster/machine-kit.ts';
import { action } from '../support/cluster/replica-actions.ts';
import { ReplicaModel } from '../support/cluster/replica-model.ts';

describe('several replicas', () => {
  it.each([
    ['3 nodes, with the small machines', { nodeCount: 3, kit: toyKit, numRuns: 50, doubtMin: 0 }],
    ['5 nodes, with the small machines', { nodeCount: 5, kit: toyKit, numRuns: 20, doubtMin: -1 }],
    ['3 nodes, with the real machines', { nodeCount: 3, kit: databaseKit, numRuns: 20, doubtMin: -1 }],
  ])(
    'of %s lose nothing that was answered (C2, C5, C11, C12, C14)',
    async (_name, { nodeCount, kit, numRuns, doubtMin }) => {
      const counts = { committed: 0, forwarded: 0, lost: 0, unknown: 0, read: 0, crashes: 0, moves: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.array(action, { minLength: 30, maxLength: 70, size: 'max' }),
          fc.integer({ min: 1, max: 2 ** 31 }),
          async (actions, seed) => {
            const model = await ReplicaModel.started(nodeCount, kit, seed);
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
      expect(counts.forwarded).toBeGreaterThan(numRuns / 2);
      expect(counts.read).toBeGreaterThan(numRuns / 2);
      expect(counts.lost + counts.unknown).toBeGreaterThan(doubtMin);
    },
    120_000,
  );
});
