// Goal: where logs keep next to nothing and whoever was away gets the state instead, nothing that was answered is lost
// either, and in the end all replicas are the same in every row. Method: the random schedules of cluster-replicas and
// cluster-moves, with tails of a few entries, parts of a few transactions and segments that go at once.

import { describe, expect, it } from 'vitest';
import type { CoreLimits } from '#cluster';
import { databaseKit, toyKit } from '../support/cluster/machine-kit.ts';
import { action, movingAction } from '../support/cluster/replica-actions.ts';
import { runSchedules } from '../support/cluster/schedules.ts';

const RUNS = Number(process.env['SNAPSHOT_RUNS'] ?? '1');
const TINY: Partial<CoreLimits> = {
  tailBytesMax: 150,
  retainedBytesMax: 150,
  snapshotPartBytes: 900,
  snapshotWindowBytes: 3000,
};

describe('replicas whose logs keep next to nothing', () => {
  it.each([
    ['3 nodes, with the small machines', { nodeCount: 3, kit: toyKit, numRuns: 60, actions: action }],
    [
      '5 nodes that come and go, with the small machines',
      { nodeCount: 5, kit: toyKit, numRuns: 25, actions: movingAction },
    ],
    ['3 nodes, with the real machines', { nodeCount: 3, kit: databaseKit, numRuns: 25, actions: action }],
    [
      '5 nodes that come and go, with the real machines',
      { nodeCount: 5, kit: databaseKit, numRuns: 10, actions: movingAction },
    ],
  ])(
    'of %s lose nothing that was answered, and are the same in the end (C2, C15, C16)',
    async (_name, { numRuns, ...schedules }) => {
      const length = { minLength: 40, maxLength: 90 };
      const counts = await runSchedules({ length, limits: TINY, numRuns: numRuns * RUNS, ...schedules });
      // The schedules were not in vain.
      expect(counts.committed).toBeGreaterThan(numRuns);
      expect(counts.crashes).toBeGreaterThan(numRuns);
      expect(counts.letters).toBeGreaterThan(numRuns * 4);
    },
    180_000,
  );
});
