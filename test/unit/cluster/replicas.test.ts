// Goal: groups of three replicas elect a leader, agree, and lose nothing that was answered when it dies. Method: three
// nodes in one thread over a network in memory whose time the test passes.

import { describe, expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  type DatabaseError,
  type GroupId,
  nodeOf,
  replicaOf,
  toGroupId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import { clusterOf } from '#cluster';
import { ReplicaWorld, type WorldNode } from '../../support/cluster/replica-world.ts';

async function withDatabase(
  world: ReplicaWorld,
): Promise<{ readonly group: GroupId; readonly leader: WorldNode; readonly others: readonly WorldNode[] }> {
  const catalog = await world.leader(CATALOG_GROUP);
  const { binding } = await world.answer(catalog.front.createDatabase('shop'));
  const leader = await world.leader(binding.group);
  await world.pass(500);
  return { group: binding.group, leader, others: world.up.filter((each) => each !== leader) };
}

async function refusal(world: ReplicaWorld, asked: Promise<unknown>): Promise<DatabaseError> {
  return world.answer(
    asked.then(
      (answer) => expect.fail(`It was answered: ${JSON.stringify(answer)}`),
      (error: DatabaseError) => error,
    ),
  );
}

describe('three nodes', () => {
  it('agree on one leader, and whoever does not lead forwards to it (C12, C14)', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    expect(world.failures).toEqual([]);
    expect(await world.answer(leader.transact(group, 'a'))).toMatchObject({ kind: 'committed', revision: 1 });
    for (const [at, other] of others.entries()) {
      expect(await world.answer(other.transact(group, `b${at}`))).toMatchObject({
        kind: 'committed',
        revision: 2 + at,
      });
      expect(other.front.answered(group)).toBe(2 + at);
    }
    for (const { core } of world.up) {
      const { openGroups, ledGroups, followedGroups } = core.levels;
      expect([openGroups, ledGroups + followedGroups]).toEqual([2, 2]);
    }
  });

  it('do not wait for an election deadline when the node of the leader ends', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    await leader.crash();
    await world.until(() => others.some((other) => other.leads(group)), 'another leader', 500);
    expect(world.failures).toEqual([]);
  });

  it('do not wait for an election deadline when a majority stood still, and no connection broke', async () => {
    const waits: number[] = [];
    for (let seed = 1; seed <= 16; seed += 1) {
      const world = await ReplicaWorld.started(3, { seed });
      const { group, leader, others } = await withDatabase(world);
      const [first = leader, second = leader] = others;
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
    // Half of the time between two questions; with the deadlines of elections alone it is 1800 ms.
    expect(waits.reduce((sum, each) => sum + each, 0) / waits.length).toBeLessThan(1200);
  });

  it.each([0, 1])(
    'ask for the lead again, if whoever lacks entries hears last that the leader has ended: %i',
    async (at) => {
      const world = await ReplicaWorld.started(3);
      const { group, leader, others } = await withDatabase(world);
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

  it('stay with a leader that others still hear of, when one of them has lost it', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    const [other] = others;
    const { term } = leader.core.levels;
    other?.core.unreachable(leader.node);
    await world.pass(3000);
    expect([leader.leads(group), leader.core.levels.term]).toEqual([true, term]);
    expect(await world.answer((other ?? leader).transact(group, 'x'))).toMatchObject({ revision: 1 });
  });

  it('do not know what became of a write while they are cut off from whoever does (C11)', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    for (const other of others) world.network.cut(leader.node, other.node);
    const error = await refusal(world, leader.transact(group, 'x'));
    expect(error).toMatchObject({ code: 'unavailable', details: { reason: 'OutcomeUnknown' } });
    const later = await refusal(world, leader.transact(group, 'y'));
    expect(later).toMatchObject({ code: 'unavailable', details: { reason: 'NoLeader' } });
    expect(await refusal(world, leader.front.latest(group))).toMatchObject({ details: { reason: 'NoLeader' } });
  });

  it('settle a write of a lost lead when it turns out to be committed (C11)', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    // The others get the entry; their answers do not come back.
    for (const other of others) world.network.cutWay(other.node, leader.node);
    const asked = leader.transact(group, 'x');
    await world.until(() => others.some((other) => other.leads(group)), 'another leader');
    world.network.heal();
    expect(await world.answer(asked)).toMatchObject({ kind: 'committed', revision: 1 });
    expect(world.failures).toEqual([]);
  });

  it('beat for all groups of a node in one hand-over (C10)', async () => {
    const world = await ReplicaWorld.started(3);
    const catalog = await world.leader(CATALOG_GROUP);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await world.answer(catalog.front.createDatabase(name));
    await world.pass(5000);
    const led = world.up.map(({ core }) => core.levels.ledGroups);
    expect(led.reduce((sum, count) => sum + count, 0)).toBe(7);
    const before = { ...world.network.counts };
    await world.pass(500);
    const { sends, messages } = world.network.counts;
    // Two beats for each group, and their answers; each pair of nodes has one hand-over for each, in each direction.
    expect(messages - before.messages).toBe(7 * 2 * 2);
    expect(sends - before.sends).toBeLessThanOrEqual(3 * 2 * 2);
  });

  it('listen to nobody but the replica that a message names as its sender, and only for their own (C10)', async () => {
    const world = await ReplicaWorld.started(3);
    const [first, second] = world.nodes.map((node) => world.at(node));
    if (first === undefined || second === undefined) throw new Error('There are three nodes');
    await withDatabase(world);
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

  it('hear what has arrived before time counts, when they stood still (C10)', async () => {
    const world = await ReplicaWorld.started(3);
    const { others } = await withDatabase(world);
    const [other] = others;
    world.nowMs += 10_000;
    const { messages } = world.network.counts;
    other?.core.tick();
    expect(world.network.counts.messages).toBe(messages);
    other?.core.tick();
    expect(world.network.counts.messages).toBeGreaterThan(messages);
  });
});

describe('a database that is placed on some of the nodes', () => {
  it('is refused with their names on the others, which know its name', async () => {
    const world = await ReplicaWorld.started(3, {
      cluster: (nodes, node) => ({
        ...clusterOf(nodes, node),
        placement: { replicas: () => nodes.slice(0, 2).map((each) => replicaOf(each)) },
      }),
    });
    const { group, leader } = await withDatabase(world);
    expect(await world.answer(leader.transact(group, 'x'))).toMatchObject({ revision: 1 });
    const third = world.up.find(({ node }) => node === 3);
    expect(third?.front.catalog.lookup('shop')?.replicas.map(nodeOf)).toEqual([1, 2]);
    const error = await refusal(world, third?.transact(group, 'y') ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'not_leader', details: { reason: 'NotReplica' } });
    await third?.crash();
    await third?.start();
    expect(await refusal(world, third?.front.latest(group) ?? Promise.resolve())).toMatchObject({ code: 'not_leader' });
  });
});
