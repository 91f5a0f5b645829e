// Goal: the operator upgrades, scales and repairs a cluster without a lost write, also when the operator itself fails.
// Method: as in operated.test.ts, with a new cluster for each scenario and a further image for the later release.
import { describe, expect, it } from 'vitest';
import { lacksTool } from '../support/needed-tools.ts';
import { imageArchive, runScenario } from './run-scenario.ts';
import { LATER } from './scenarios/scenario.ts';

const FIVE = ['--nodes', '5'];

describe.skipIf(lacksTool('kube', 'nft', 'runc', 'apt-get'))('a cluster of the operator', () => {
  it.each([
    ['two-operators', []],
    ['operator-killed', []],
    ['operator-without-api', []],
    ['operator-recovers-catalog', []],
    ['operator-grows-volumes', []],
    ['operator-rolls-back', []],
    ['operator-idle', []],
    ['operator-scales', FIVE],
    ['operator-learners', FIVE],
    ['operator-replaces-node', FIVE],
    ['operator-recovers-database', FIVE],
  ] as const)('keeps every acknowledged write with %s', { timeout: 900_000 }, async (name, world) => {
    expect(await runScenario(name, world)).toMatchObject({ faults: [], failedWrites: 0 });
  });

  it('converges after random edits and lost pods, volumes and Kubernetes nodes', { timeout: 900_000 }, async () => {
    const world = [...FIVE, '--image', await imageArchive(LATER)];
    const figures = await runScenario('operator-random', world, ['--minutes', '3', '--seed', '1']);
    expect(figures).toMatchObject({ faults: [], failedWrites: 0 });
  });

  it('is upgraded without a failed write', { timeout: 900_000 }, async () => {
    const later = await imageArchive(LATER);
    const { faults, failedWrites } = await runScenario('operator-upgrades', ['--image', later]);
    expect(faults).toEqual([]);
    expect(failedWrites).toBe(0);
  });
});
