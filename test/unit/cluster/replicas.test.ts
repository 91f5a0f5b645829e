// Goal: groups of three replicas elect a leader, agree, and lose nothing that was answered when it dies. Method: three
// nodes in one thread over a network in memory whose time the test passes.

import { describe, expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  type DatabaseError,
  type GroupId,
  NO_BYTES,
  nodeOf,
  replicaOf,
  toGroupId,
  toLogIndex,
  toNodeId,
  toRevision,
  toTerm,
} from '#base';
import { clusterOf } from '#cluster';
import { DatabaseReader } from '#database';
import { membershipOf } from '#raft';
import { RecordWriter } from '#storage';
import { nativeCrc32, nativeSha256 } from '../../../src/cluster/native.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
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

  it('have the same history, and the followers show what the leader has answered (C5)', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    for (const text of ['a', 'b', 'c']) await world.answer(leader.transact(group, text));
    for (const other of others) {
      expect(await world.answer(other.front.latest(group))).toBe(3);
      expect(await other.history(group)).toEqual(['a', 'b', 'c']);
      expect(await other.front.waitFor(group, toRevision(3), new AbortController().signal)).toBe('reached');
    }
    expect(world.failures).toEqual([]);
  });

  it('lose nothing that was answered when the leader dies, and take it in again', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader } = await withDatabase(world);
    for (const text of ['a', 'b', 'c']) await world.answer(leader.transact(group, text));
    await leader.crash({ survives: () => false });
    const next = await world.leader(group);
    expect(await world.answer(next.transact(group, 'd'))).toMatchObject({ kind: 'committed', revision: 4 });
    expect(await next.history(group)).toEqual(['a', 'b', 'c', 'd']);
    await leader.start();
    await world.pass(2000);
    expect(await world.answer(leader.front.latest(group))).toBe(4);
    expect(await leader.history(group)).toEqual(['a', 'b', 'c', 'd']);
    expect(world.failures).toEqual([]);
  });

  it('hand over the lead before they drain, so that nobody waits for an election', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    await world.answer(leader.transact(group, 'a'));
    await world.answer(leader.front.drain());
    expect(leader.leads(group)).toBe(false);
    await world.until(() => others.some((other) => other.leads(group)), 'another leader', 200);
    const next = await world.leader(group);
    expect(await world.answer(next.transact(group, 'b'))).toMatchObject({ kind: 'committed', revision: 2 });
    await world.pass(1000);
    expect(world.failures).toEqual([]);
  });

  it('do not wait for an election deadline when the node of the leader ends', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    await leader.crash();
    await world.until(() => others.some((other) => other.leads(group)), 'another leader', 500);
    expect(world.failures).toEqual([]);
  });

  it('do not wait for an election deadline when there is a majority again', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    const [first = leader, second = leader] = others;
    await leader.crash();
    await first.crash();
    await world.pass(6000);
    expect(second.leads(group)).toBe(false);
    await first.start();
    await world.until(() => [CATALOG_GROUP, group].every((each) => world.leaderOf(each) !== undefined), 'leaders', 700);
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

  it('stay with the leader, and in its term, when one of them comes back', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    const [other = leader] = others;
    await other.crash();
    await world.pass(1000);
    const { term } = leader.core.levels;
    await other.start();
    await world.pass(3000);
    expect([leader.leads(group), leader.core.levels.term]).toEqual([true, term]);
    expect(world.failures).toEqual([]);
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

  it('write nothing any more once they have drained, though others go on', async () => {
    const world = await ReplicaWorld.started(3, { kit: databaseKit });
    const { group, leader, others } = await withDatabase(world);
    const [follower] = others;
    if (follower === undefined) throw new Error('There are others');
    const { kv, log } = follower;
    const write = kv.write.bind(kv);
    const sync = kv.checkpointFiles.bind(kv);
    const [pending, syncing]: [(() => void)[], (() => void)[]] = [[], []];
    // Batches and syncs that take their time: a batch is under way when all else is done.
    kv.write = async (...batch) => {
      await new Promise<void>((resolve) => pending.push(resolve));
      return write(...batch);
    };
    kv.checkpointFiles = async () => {
      await new Promise<void>((resolve) => syncing.push(resolve));
      return sync();
    };
    leader.transact(group, 'before').catch(() => undefined);
    await world.pass(60);
    const drained: true[] = [];
    const drain = async (): Promise<void> => {
      await follower.core.drain();
      drained.push(true);
    };
    const draining = drain();
    for (let at = 0; at < 100 && drained.length === 0; at += 1) {
      for (const go of pending.splice(0)) go();
      await world.pass(30);
      if (at % 3 === 0) leader.transact(group, `text ${at}`).catch(() => undefined);
      await world.pass(30);
      if (at % 3 === 0) for (const go of syncing.splice(0)) go();
    }
    await draining;
    const append = log.append.bind(log);
    const late: string[] = [];
    log.append = (records) => {
      late.push('log');
      return append(records);
    };
    kv.write = async (...batch) => {
      late.push('store');
      return write(...batch);
    };
    expect(pending).toEqual([]);
    await world.pass(2_000);
    expect(late).toEqual([]);
    expect(world.failures).toEqual([]);
  });

  it('drain in the end even when nobody can take the lead', async () => {
    const world = await ReplicaWorld.started(3);
    const { leader, others } = await withDatabase(world);
    for (const other of others) await other.crash();
    await world.answer(leader.front.drain());
    expect(world.failures).toEqual([]);
  });

  it('delete a database everywhere, and take its name again', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader } = await withDatabase(world);
    await world.answer(leader.transact(group, 'old'));
    const catalog = await world.leader(CATALOG_GROUP);
    await world.answer(catalog.front.deleteDatabase('shop'));
    await world.pass(1000);
    for (const member of world.up) {
      expect(member.front.catalog.list()).toEqual([]);
      expect(await refusal(world, member.transact(group, 'x'))).toMatchObject({ code: 'not_found' });
    }
    const { binding } = await world.answer(catalog.front.createDatabase('shop'));
    const next = await world.leader(binding.group);
    expect(await world.answer(next.transact(binding.group, 'new'))).toMatchObject({ revision: 1 });
    await world.pass(15_000);
    for (const member of world.up) {
      expect(await member.history(binding.group)).toEqual(['new']);
      expect(await world.kit.history(member.kv, group)).toEqual([]);
    }
    expect(world.failures).toEqual([]);
  });

  it('come to the same chain hash at every revision', async () => {
    const world = await ReplicaWorld.started(3, { kit: databaseKit });
    const { group, leader } = await withDatabase(world);
    // Every third text has a constraint that looks into the store.
    for (const text of ['a', 'bcd', 'ef', 'ghi']) await world.answer(leader.transact(group, text));
    for (const member of world.up) expect(await world.answer(member.front.latest(group))).toBe(4);
    const hashes = world.up.map(({ kv }) => {
      const reader = new DatabaseReader({ kv, group, crc32: nativeCrc32, sha256: nativeSha256 });
      return [1, 2, 3, 4].map((revision) => reader.transaction(revision).chainHash);
    });
    expect(hashes[1]).toEqual(hashes[0]);
    expect(hashes[2]).toEqual(hashes[0]);
  });

  it('take no writes that a majority does not hear of, and say what became of them (C11)', async () => {
    const world = await ReplicaWorld.started(3);
    const { group, leader, others } = await withDatabase(world);
    for (const other of others) world.network.cut(leader.node, other.node);
    const lost = refusal(world, leader.transact(group, 'lost'));
    await world.until(() => others.some((other) => other.leads(group)), 'another leader');
    const next = others.find((other) => other.leads(group));
    expect(
      await world.answer(next?.transact(group, 'kept') ?? Promise.reject(new Error('nobody leads'))),
    ).toMatchObject({
      kind: 'committed',
      revision: 1,
    });
    world.network.heal();
    // Another entry is committed in its place, so it is known not to be.
    expect(await lost).toMatchObject({ code: 'unavailable', details: { reason: 'NotCommitted' } });
    await world.pass(1000);
    for (const member of world.up) expect(await member.history(group)).toEqual(['kept']);
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

  it('go on without a member that lacks what the log has forgotten, and take it in again', async () => {
    const world = await ReplicaWorld.started(3, { limits: { tailBytesMax: 200, checkpointIntervalMs: 10 } });
    const { group, leader, others } = await withDatabase(world);
    const [away, other] = others;
    await away?.crash();
    for (let at = 0; at < 20; at += 1) await world.answer(leader.transact(group, `text ${at}`));
    // Whoever leads next has only the end of the log.
    await leader.crash();
    await leader.start();
    await away?.start();
    const next = await world.leader(group);
    await world.pass(5000);
    expect(await world.answer(next.transact(group, 'on'))).toMatchObject({ kind: 'committed', revision: 21 });
    await world.pass(2000);
    expect(world.failures).toEqual([]);
    expect(next === leader || next === other).toBe(true);
    expect(await away?.history(group)).toEqual(await next.history(group));
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

describe('a node that the log makes a learner of the catalog (C9)', () => {
  it('follows it, and is one still after every node was started anew', async () => {
    const world = new ReplicaWorld(2, { cluster: (nodes, node) => clusterOf(nodes.slice(0, 1), node) });
    const [first, second] = world.nodes.map((node) => world.at(node));
    if (first === undefined || second === undefined) throw new Error('There are two nodes');
    const learner = replicaOf(second.node);
    const records = new RecordWriter();
    const term = toTerm(1);
    records.hardState(CATALOG_GROUP, { term, vote: replicaOf(first.node) });
    const membership = membershipOf([replicaOf(first.node)], [learner]);
    records.entry(CATALOG_GROUP, { term, index: toLogIndex(1), payload: NO_BYTES, membership });
    first.log.append(records.take());
    first.log.sync();
    for (const node of [first, second]) await node.start();
    const { binding } = await world.answer(first.front.createDatabase('shop'));
    await world.pass(1000);
    expect(second.front.catalog.lookup('shop')).toEqual(binding);
    const written = second.log.durable.flatMap((record) => (record.kind === 'entry' ? (record.membership ?? []) : []));
    expect(written).toEqual([membership]);
    for (const node of [first, second]) await node.crash();
    for (const node of [first, second]) await node.start();
    await world.answer(first.front.createDatabase('later'));
    await world.pass(1000);
    expect(second.front.catalog.list().map(({ name }) => name)).toEqual(['later', 'shop']);
    expect(world.failures).toEqual([]);
  });
});
