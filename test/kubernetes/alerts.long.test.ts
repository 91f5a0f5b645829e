// Goal: each alert of the chart fires when its fault happens, and its runbook repairs the fault. Method: a real
// Prometheus in a Kubernetes cluster. The test makes the faults and runs the commands of the runbook pages.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runInCluster } from './run-scenario.ts';
import type { AlertFigures } from './scenarios/alerts.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('an alert', () => {
  it('fires after its fault, and ends after the steps of its runbook', { timeout: 900_000 }, async () => {
    const program = join(import.meta.dirname, 'scenarios/alerts.ts');
    const figures = await runInCluster<AlertFigures>(program, { world: ['--nodes', '4'] });
    expect(Object.keys(figures)).toEqual([
      'CairnPeersRejected',
      'CairnInsufficientMembers',
      'CairnDiskFull',
      'CairnCertExpiring',
      'CairnMemberDown',
      'CairnComponentTrapping',
    ]);
  });
});
