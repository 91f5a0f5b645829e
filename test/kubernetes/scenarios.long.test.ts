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
