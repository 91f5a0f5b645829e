// Goal: a node whose log does not get to its disk leads nothing that others can lead without it, and leads on where
// they cannot (C29). Method: nodes over a network in memory, of which one has its disk held.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId } from '#base';
import { isAt, join, keptWorld } from '../../../support/cluster/kept-world.ts';
import type { ReplicaWorld, WorldNode } from '../../../support/cluster/replica-world.ts';

async function shop(): Promise<{ readonly world: ReplicaWorld; readonly group: GroupId; readonly leader: WorldNode }> {
  const world = await keptWorld(3);
  await join(world, [2, 3]);
  await world.pass(3_000);
  const catalog = await world.leader(CATALOG_GROUP);
  const { binding } = await world.answer(catalog.front.createDatabase('shop'));
  const { group } = binding;
  await world.until(() => isAt(world, group, [1, 2, 3]), 'a database on three nodes');
  const leader = await world.leader(group);
  await world.answer(leader.transact(group, 'before'));
  return { world, group, leader };
}

it('a log that does not get to its disk (C29) leads on when the others are no majority, and after it stood still itself', async () => {
  const { world, group, leader } = await shop();
  const [other] = world.up.filter((node) => node !== leader);
  await other?.crash();
  leader.holdDisk(true);
  const held = leader.transact(group, 'held');
  await world.pass(10_000);
  expect(leader.leads(group)).toBe(true);
  leader.holdDisk(false);
  expect((await world.answer(held)).revision).toBe(2);
  expect(world.failures).toEqual([]);
});
