// Goal: the kubelet and the network of the harness treat pods as test/kubernetes/DESIGN.md says, so that tests with
// them are tests in Kubernetes. Method: a few pods without Cairn in their own cluster, and the answers of kubectl about
// them.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { runScenario } from './run-scenario.ts';
import type { KubeletFacts } from './scenarios/kubelet.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('the kubelet of the harness', () => {
  it('runs pods as their objects describe them', { timeout: 300_000 }, async () => {
    const found = { BOTH: 'hello and hush', POD: 'greeter', uid: 1000, prepared: 'yes' };
    expect(await runScenario<KubeletFacts>('kubelet')).toEqual({
      greeting: { ...found, file: 'hello' },
      refreshed: { ...found, file: 'good day' },
      log: 'it listens\n',
      executed: { output: 'true\n', failure: expect.stringContaining('command terminated with exit code 7') },
      crashed: { log: 'it crashes\n', reason: 'CrashLoopBackOff' },
      unknownImage: 'ErrImageNeverPull',
      reached: { friend: true, stranger: false },
    });
  });
});
