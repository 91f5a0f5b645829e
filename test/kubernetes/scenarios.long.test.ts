// Goal: a cluster loses no acknowledged write when Kubernetes replaces pods, drains or loses Kubernetes nodes, or
// volumes are lost. Method: as in leader-deleted.test.ts, with a new cluster for each event.
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

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a Service that follows its pods late', () => {
  it.each([
    { lagSeconds: 5, lingerSeconds: 15, outcome: 'accepts every connection' },
    // A pod that does not linger still takes several seconds to stop on a busy machine.
    { lagSeconds: 20, lingerSeconds: 0, outcome: 'loses connections' },
  ])('by $lagSeconds s or more $outcome when pods linger for $lingerSeconds s', { timeout: 400_000 }, async (how) => {
    const values = [`drain.lingerSeconds=${how.lingerSeconds}`];
    const { lostConnections } = await runScenario('leader-deleted', ['--lag', String(how.lagSeconds)], values);
    expect(lostConnections === 0).toBe(how.lingerSeconds > 2 * how.lagSeconds);
  });
});
