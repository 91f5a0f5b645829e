// Goal: a cluster loses no acknowledged write when operators scale it, lose a volume, or upgrade it and go back.
// Method: as in leader-deleted.test.ts, with a further image for the later release.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { imageArchive, runScenario } from './run-scenario.ts';
import { LATER } from './scenarios/scenario.ts';

const NOTHING_LOST = { faults: [], failedWrites: 0 };

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a cluster in Kubernetes', () => {
  it('keeps every acknowledged write with one replica, and while it scales to three and back', {
    timeout: 600_000,
  }, async () => {
    expect(await runScenario('one-replica')).toMatchObject(NOTHING_LOST);
  });

  it('restores replicas and votes of a node that starts again without its volume', {
    timeout: 600_000,
  }, async () => {
    expect(await runScenario('volume-lost')).toMatchObject(NOTHING_LOST);
  });

  it('can be upgraded and rolled back, but not rolled back after the upgrade is final', {
    timeout: 900_000,
  }, async () => {
    const later = await imageArchive(LATER);
    expect(await runScenario('upgraded-and-back', ['--image', later])).toMatchObject(NOTHING_LOST);
  });
});
