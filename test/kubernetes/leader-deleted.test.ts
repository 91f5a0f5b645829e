// Goal: a cluster in Kubernetes loses no acknowledged write when the pod of its leader is deleted while clients write.
// Method: a real control plane, the kubelet of test/kubernetes, which runs the real image by runc, and clients whose
// history is checked by the checks of the simulation.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runScenario } from './run-scenario.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a cluster in Kubernetes', () => {
  it('keeps every acknowledged write when the pod of the leader is deleted', { timeout: 300_000 }, async () => {
    const { faults, failedWrites, writes } = await runScenario('leader-deleted');
    expect(faults).toEqual([]);
    expect(failedWrites).toBe(0);
    expect(writes).toBeGreaterThan(200);
  });
});
