// Goal: what Kubernetes does to pods, Kubernetes nodes and volumes costs no acknowledged write. Method: as in
// leader-deleted.test.ts, a cluster of its own for each deed.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runScenario } from './run-scenario.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))(
  'a cluster in Kubernetes keeps every acknowledged write',
  () => {
    it.each([
      'rolling-restart',
      'all-deleted',
      'node-drained',
      'node-lost',
      'first-volume-lost-with-all-down',
      'leader-cut-off',
      'values-changed',
      'reinstalled',
      'certificates-rotated',
    ] as const)('with %s', { timeout: 400_000 }, async (name) => {
      const { faults, failedWrites } = await runScenario(name);
      expect(faults).toEqual([]);
      expect(failedWrites).toBe(0);
    });
  },
);

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a Service that follows its pods after 5 to 10 s', () => {
  it.each([
    [15, 'accepts every connection'],
    [0, 'loses connections'],
  ])('when a pod that is deleted lingers for %i s, %s', { timeout: 400_000 }, async (lingerSeconds) => {
    const values = [`drain.lingerSeconds=${lingerSeconds}`];
    const { lostConnections } = await runScenario('leader-deleted', ['--lag', '5'], values);
    expect(lostConnections === 0).toBe(lingerSeconds > 10);
  });
});
