// Goal: an idle heartbeat of thousands of groups is a few bytes and steps none of them (C31). Method: counts of an idle
// cluster. Tests of steps of groups at rest are group-rest.test.ts and the simulation.
import { expect, it } from 'vitest';
import type { GroupId } from '#base';
import { ReplicaWorld } from '../../../support/cluster/replica-world.ts';

const MANY = 60;

async function idleWorld(): Promise<{
  readonly world: ReplicaWorld;
  readonly groups: readonly GroupId[];
  readonly steps: Steps;
}> {
  const steps: Steps = { count: 0, elected: 0 };
  const world = await ReplicaWorld.started(3, {
    stepped: (_node, _input, { effects }) => {
      steps.count += 1;
      for (const effect of effects)
        if (effect.kind === 'fact' && effect.fact.kind === 'became-leader') steps.elected += 1;
    },
  });
  const groups: GroupId[] = [];
  for (let at = 0; at < MANY; at += 1) {
    groups.push((await world.create(`db-${at}`)).group);
  }
  for (const group of groups) await world.leader(group);
  await world.pass(10_000);
  return { world, groups, steps };
}

interface Steps {
  count: number;
  elected: number;
}

it('an idle cluster (C31) delta-encodes its heartbeats, in as few bytes as for one group, and steps no group', async () => {
  const { world, steps } = await idleWorld();
  const [counts, before] = [world.network.counts, { ...world.network.counts }];
  const stepCount = steps.count;
  await world.pass(60_000);
  const passed = counts.messages - before.messages;
  // Two heartbeats per second to two nodes, for each group and the catalog, and as many answers.
  expect(passed).toBeGreaterThan((MANY + 1) * 2 * 2 * 2 * 58);
  expect(counts.repeated - before.repeated).toBe(passed);
  expect(steps.count).toBe(stepCount);
  const FRAME_BYTES_MAX = 150;
  expect((counts.frameBytes - before.frameBytes) / (counts.sends - before.sends)).toBeLessThan(FRAME_BYTES_MAX);
});
