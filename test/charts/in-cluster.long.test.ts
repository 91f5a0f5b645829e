// Goal: a real API server accepts each render of the chart, also with the kinds of other operators; `helm install`
// creates a cluster that accepts transactions; and changed values restart pods only when they must. Method:
// in-cluster.ts runs in its own cluster.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runInCluster } from '../kubernetes/run-scenario.ts';
import { lacksTool } from '../support/needed-tools.ts';
import type { ChartFacts } from './in-cluster.ts';

it.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))(
  'the chart installs a cluster whose pods restart only after a change of settings that nodes read at their start',
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
