// Goal: the operator makes a working cluster of a CairnCluster of a few lines, replaces a pod that is deleted, and
// removes nodes, without a lost write. Method: as in leader-deleted.test.ts; the charts of the operator on a real
// control plane, with the rights of its roles alone.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runScenario } from './run-scenario.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a cluster of the operator', () => {
  it('keeps every acknowledged write while a pod is replaced and nodes are removed', { timeout: 300_000 }, async () => {
    const { faults, failedWrites, writes } = await runScenario('operated');
    expect(faults).toEqual([]);
    expect(failedWrites).toBe(0);
    expect(writes).toBeGreaterThan(200);
  });
});
