// Goal: a real API server takes every render of the chart, with the kinds of other operators; `helm install` gives a
// cluster that takes transactions; and values restart pods only where they must. Method: in-cluster.ts, in a cluster of
// its own.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runInCluster } from '../kubernetes/run-scenario.ts';
import { lacksTool } from '../support/needed-tools.ts';
import type { ChartFacts } from './in-cluster.ts';

it.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))(
  'the chart gives a cluster that is restarted only by what nodes read at their start',
  { timeout: 600_000 },
  async () => {
    const { tested, ...facts } = await runInCluster<ChartFacts>(join(import.meta.dirname, 'in-cluster.ts'));
    expect(facts).toEqual({
      refused: [],
      caught: 2,
      kept: 3,
      keptByOrphaning: 3,
      keptByRestart: 0,
      hasKeptSecrets: true,
    });
    expect(tested).toContain('a transaction was written and read back');
  },
);
