// Goal: a node whose log cannot write to its disk transfers groups that others can lead, to a different voter each
// time, and keeps the leadership of the rest (C29, C38). Method: nodes over a network in memory, one of them unfit.
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

it('a node that refuses writes and is elected again transfers the group to another voter than before (C38)', async () => {
  const { world, group } = await shopOnThree();
  const full = await world.leader(group);
  full.core.reportDisk('refusing-writes');
  const isTransferred = (): boolean => world.leaderOf(group) !== undefined && world.leaderOf(group) !== full;
  await world.until(isTransferred, 'another node leads');
  const first = world.leaderOf(group);
  world.network.isHeld = (from, _to, { message }) => from !== full.node && message.kind === 'pre-vote-request';
  await first?.crash();
  await world.until(() => world.leaderOf(group) === full, 'it is elected again', 60_000);
  world.network.isHeld = () => false;
  await first?.start();
  await world.until(isTransferred, 'the next transfer', 60_000);
  expect(world.leaderOf(group)).not.toBe(first);
  expect(world.failures).toEqual([]);
});
