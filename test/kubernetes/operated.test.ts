// Goal: the operator creates a working cluster from a short CairnCluster, replaces a deleted pod, and removes nodes,
// without a lost write. Method: as in leader-deleted.test.ts, with the charts of the operator on a real control plane,
// and only the rights of its roles.
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
