// Goal: groups of three replicas elect a leader, agree, and lose no acknowledged write when it stops. Method: three
// nodes in one thread over a network in memory with a manual clock.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, replicaOf, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import { startTrio } from '../../support/cluster/replica-world.ts';

describe('three nodes', () => {
  it('elect a leader before the election deadline when the node of the leader stops', async () => {
    const { world, group, leader, others } = await startTrio();
    await leader.crash();
    await world.until(() => others.some((other) => other.leads(group)), 'another leader', 500);
    expect(world.failures).toEqual([]);
  });

  it('elect a leader before the election deadline after a lost majority returns, without a broken connection', async () => {
    const waits: number[] = [];
    for (let seed = 1; seed <= 16; seed += 1) {
      const { world, group, leader, others } = await startTrio({ seed });
      const [first, second] = others;
      await first.crash();
      world.network.cut(leader.node, second.node);
      await world.pass(5000 + 300 * seed);
      expect([leader, second].some((each) => each.leads(group))).toBe(false);
      world.network.heal();
      const healedMs = world.nowMs;
      await world.until(() => world.leaderOf(group) !== undefined, 'a leader');
      waits.push(world.nowMs - healedMs);
      expect(world.failures).toEqual([]);
    }
    // Half of the time between two pre-votes. With election deadlines alone it is 1800 ms.
    expect(waits.reduce((sum, each) => sum + each, 0) / waits.length).toBeLessThan(1200);
  });

  it.each([0, 1])(
    'campaign again when the replica that lags learns last that the leader has stopped: %i',
    async (at) => {
      const { world, group, leader, others } = await startTrio();
      const [ahead = leader, behind = leader] = at === 0 ? others : others.toReversed();
      world.network.cut(leader.node, behind.node);
      await world.answer(leader.transact(group, 'a'));
      world.network.cut(leader.node, ahead.node);
      ahead.core.unreachable(leader.node);
      await world.pass(50);
      behind.core.unreachable(leader.node);
      await world.until(() => ahead.leads(group), 'a leader that has everything', 900);
      expect(world.failures).toEqual([]);
    },
  );

  it('accept messages only from the replica that is named as the sender, and only for their own replica (C10)', async () => {
    const { world } = await startTrio();
    const [first, second] = world.nodes.map((node) => world.at(node));
    if (first === undefined || second === undefined) throw new Error('There are three nodes');
    const { term } = first.core.levels;
    const entry = { index: toLogIndex(9), term: toTerm(9) };
    const message = { kind: 'vote-request', term: toTerm(9), last: entry, commit: entry, isTransfer: true } as const;
    const [own, other] = [replicaOf(first.node), replicaOf(second.node)];
    const ask = { group: CATALOG_GROUP, from: other, to: own, message };
    first.core.receive(second.node, [{ ...ask, to: replicaOf(first.node, 1) }]);
    first.core.receive(toNodeId(3), [ask]);
    first.core.receive(second.node, [{ ...ask, group: toGroupId(77) }]);
    expect(first.core.levels.term).toBe(term);
    first.core.receive(second.node, [ask]);
    expect(first.core.levels.term).toBe(9);
  });
});
