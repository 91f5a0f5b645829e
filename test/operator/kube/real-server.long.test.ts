// Goal: a real API server behaves as the server in memory does. Method: a program in the cluster of the harness reads,
// writes, elects a leader and records events.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInCluster } from '../../kubernetes/run-scenario.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { DELETIONS } from './deletions.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a real API server', () => {
  it('behaves as the server in memory', { timeout: 300_000 }, async () => {
    expect(await runInCluster(join(import.meta.dirname, 'real-server.ts'))).toEqual({
      takenOver: { size: '2', colour: 'red' },
      unknown: [500, true],
      guarded: 409,
      listed: 520,
      told: ['undefined to 1', '1 to 2', 'gone'],
      fresh: true,
      ahead: [504, true],
      held: [false, true],
      leaders: 2,
      isAgain: false,
      conditions: 1,
      counts: [2],
      ...DELETIONS,
      errors: [],
    });
  });
});
