// Goal: a node whose log cannot write to its disk transfers groups that others can lead, and keeps the leadership of
// the rest (C29). Method: nodes over a network in memory, one of them with a stalled disk.
import { expect, it } from 'vitest';
import { shopOnThree } from '../../../support/cluster/kept-world.ts';

it('a log that cannot write to its disk (C29) keeps the leadership when the others are no majority, and continues afterwards', async () => {
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
