// Goal: the alerts of the chart fire when what they name goes wrong, and who follows their runbooks puts it right.
// Method: a real Prometheus in a cluster of Kubernetes; faults are made, and the commands in the pages are run.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runInCluster } from './run-scenario.ts';
import type { AlertFigures } from './scenarios/alerts.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('an alert', () => {
  it('fires after its fault, and ends when its runbook was followed', { timeout: 900_000 }, async () => {
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
