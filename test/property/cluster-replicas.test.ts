// Goal: whatever networks lose and processes forget, nothing that was answered is lost, nothing that was refused for
// good appears, every read sees what was answered before it, and in the end all replicas are the same. Method: random
// schedules of writes, reads, losses, cuts, crashes with torn logs and stores with holes, and clocks that stand still,
// over three and five nodes, against a model of what was answered.

import { describe, expect, it } from 'vitest';
import { databaseKit, toyKit } from '../support/cluster/machine-kit.ts';
import { action } from '../support/cluster/replica-actions.ts';
import { runSchedules } from '../support/cluster/schedules.ts';

describe('several replicas', () => {
  it.each([
    ['3 nodes, with the small machines', { nodeCount: 3, kit: toyKit, numRuns: 50, doubtMin: 0 }],
    ['5 nodes, with the small machines', { nodeCount: 5, kit: toyKit, numRuns: 20, doubtMin: -1 }],
    ['3 nodes, with the real machines', { nodeCount: 3, kit: databaseKit, numRuns: 20, doubtMin: -1 }],
  ])(
    'of %s lose nothing that was answered (C2, C5, C11, C12, C14)',
    async (_name, { numRuns, doubtMin, ...schedules }) => {
      const counts = await runSchedules({ actions: action, numRuns, ...schedules });
      // The schedules were not in vain.
      expect(counts.committed).toBeGreaterThan(numRuns);
      expect(counts.forwarded).toBeGreaterThan(numRuns / 2);
      expect(counts.read).toBeGreaterThan(numRuns / 2);
      expect(counts.lost + counts.unknown).toBeGreaterThan(doubtMin);
    },
    120_000,
  );
});
