// Goal: a node whose log does not get to its disk leads nothing that others can lead without it, and leads on where
// they cannot (C29). Method: nodes over a network in memory, of which one has its disk held.
import { expect, it } from 'vitest';
import { shopOnThree } from '../../../support/cluster/kept-world.ts';

it('a log that does not get to its disk (C29) leads on when the others are no majority, and after it stood still itself', async () => {
  const { world, group } = await shopOnThree();
  const leader = await world.leader(group);
  await world.answer(leader.transact(group, 'before'));
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
