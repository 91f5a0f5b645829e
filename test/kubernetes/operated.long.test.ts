// Goal: the operator upgrades a cluster under writers, to the next feature level, without a lost write. Method: as in
// operated.test.ts; the release before is an image of its own.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { earlierRelease } from './earlier-release.ts';
import { imageArchive, runScenario } from './run-scenario.ts';
import { EARLIER } from './scenarios/operator-scenarios.ts';

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a cluster of the operator', () => {
  it('is upgraded without a failed write', { timeout: 900_000 }, async () => {
    const earlier = await imageArchive(earlierRelease(), EARLIER, EARLIER);
    const { faults, failedWrites } = await runScenario('operator-upgrades', ['--image', earlier]);
    expect(faults).toEqual([]);
    expect(failedWrites).toBe(0);
  });
});
