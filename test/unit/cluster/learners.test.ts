// Goal: a learner has every database and serves reads, never votes, and never holds anything back. Method: nodes over a
// network in memory, of which node 4 is a learner.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, replicaOf, toNodeId } from '#base';
import { members } from '#raft';
import { bindingOf, join, keptWorld, REPLACE_AFTER_MS, registrationOf } from '../../support/cluster/kept-world.ts';
import type { ReplicaWorld, WorldNode } from '../../support/cluster/replica-world.ts';

const LEARNER = toNodeId(4);
const REPLICA = replicaOf(LEARNER);

async function poolWorld(): Promise<{ readonly world: ReplicaWorld; readonly learner: WorldNode }> {
  const world = await keptWorld(4, { learners: [LEARNER] });
  await join(world, [2, 3]);
  await world.pass(3_000);
  return { world, learner: world.at(LEARNER) };
}

async function created(world: ReplicaWorld, name: string, copies = 0): Promise<GroupId> {
  const { front } = await world.leader(CATALOG_GROUP);
  return (await world.answer(front.createDatabase(name, { copies }))).binding.group;
}

async function write(world: ReplicaWorld, group: GroupId, text: string): Promise<void> {
  // A group of one replica may be dormant until then.
  const [first, ...others] = bindingOf(await world.leader(CATALOG_GROUP), group)?.replicas ?? [];
  const isLone = first !== undefined && others.length === 0;
  const writer = isLone ? world.at(nodeOf(first)) : await world.leader(group);
  await world.answer(writer.transact(group, text));
}

function isLearnerOf(world: ReplicaWorld, group: GroupId): boolean {
  const { voters, learners } = world.leaderOf(group)?.core.membershipOf(group) ?? {};
  const isVoter = voters !== undefined && members(voters).includes(REPLICA);
  return !isVoter && learners?.includes(REPLICA) === true;
}

/** The transactions of the database at the learner, by a linearizable read. */
async function readAt(world: ReplicaWorld, learner: WorldNode, group: GroupId): Promise<readonly string[]> {
  await world.answer(learner.front.latest(group));
  return learner.history(group);
}

it('a learner gets every database, older and newer ones and those with one voter, and reads what others write', async () => {
  const { world, learner } = await poolWorld();
  const older = [await created(world, 'shop'), await created(world, 'lone', 1)];
  for (const group of older) await write(world, group, 'a');
  await join(world, [LEARNER]);
  const groups = [...older, await created(world, 'new'), await created(world, 'single', 1)];
  await world.until(() => groups.every((group) => isLearnerOf(world, group)), 'a learner of every group');
  for (const group of groups) await write(world, group, 'b');
  for (const group of older) expect(await readAt(world, learner, group)).toEqual(['a', 'b']);
  for (const group of groups.slice(2)) expect(await readAt(world, learner, group)).toEqual(['b']);
  for (const group of groups) expect(bindingOf(learner, group)?.replicas.map(nodeOf)).not.toContain(LEARNER);
  const { front } = await world.leader(CATALOG_GROUP);
  await world.answer(front.deleteDatabase('lone'));
  await world.until(() => learner.core.membershipOf(groups[1] ?? CATALOG_GROUP) === undefined, 'no replica of it');
  expect(world.failures).toEqual([]);
});

it('a new learner has caught up when it has every database', async () => {
  const { world, learner } = await poolWorld();
  const groups = [await created(world, 'shop'), await created(world, 'lone', 1)];
  for (const group of groups) await write(world, group, 'a');
  await join(world, [LEARNER]);
  expect(learner.core.health.lacking).toBeGreaterThan(0);
  await world.until(() => learner.core.health.lacking === 0, 'a learner that has caught up');
  for (const group of groups) expect(await learner.history(group)).toEqual(['a']);
});

it('a learner and a lone voter continue after restarts, without a wait for an election timeout', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const group = await created(world, 'lone', 1);
  await write(world, group, 'a');
  await world.until(() => isLearnerOf(world, group), 'a learner');
  await learner.crash();
  await write(world, group, 'b');
  await learner.start();
  expect(await readAt(world, learner, group)).toEqual(['a', 'b']);
  const voter = await world.leader(group);
  await voter.crash();
  await voter.start();
  await world.until(() => voter.leads(group), 'a leader');
  await write(world, group, 'c');
  expect(await readAt(world, learner, group)).toEqual(['a', 'b', 'c']);
  expect(learner.lostCampaigns).toEqual([]);
  expect(world.failures).toEqual([]);
});

it('a learner does not vote when voters are lost, neither for a database nor for the catalog', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const group = await created(world, 'shop');
  await write(world, group, 'a');
  await world.until(() => isLearnerOf(world, group), 'a learner');
  await world.at(toNodeId(2)).crash();
  await world.pass(REPLACE_AFTER_MS + 5_000);
  expect(isLearnerOf(world, CATALOG_GROUP)).toBe(true);
  expect(isLearnerOf(world, group)).toBe(true);
  await world.at(toNodeId(3)).crash();
  await world.pass(20_000);
  expect([CATALOG_GROUP, group].map((each) => world.leaderOf(each))).toEqual([undefined, undefined]);
  expect(learner.lostCampaigns).toEqual([]);
  expect(world.failures).toEqual([]);
});

it('a learner that is lost is released, holds back no database and no placement, and catches up when it is back', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const before = await created(world, 'shop', 1);
  await world.until(() => isLearnerOf(world, before), 'a learner');
  await learner.crash();
  await world.pass(REPLACE_AFTER_MS / 2);
  expect(isLearnerOf(world, before)).toBe(true);
  await world.pass(REPLACE_AFTER_MS / 2);
  await world.until(() => !isLearnerOf(world, before), 'a group that has released it');
  const after = await created(world, 'new');
  const { core } = await world.leader(CATALOG_GROUP);
  const order = { kind: 'set-copies', name: 'shop', databaseId: undefined, copies: 3 } as const;
  await world.answer(core.admin.order(order));
  const isPlaced = (): boolean => {
    const binding = bindingOf(world.at(toNodeId(1)), before);
    return binding?.isSettled === true && binding.replicas.length === 3;
  };
  await world.until(isPlaced, 'three voters');
  for (const group of [before, after]) await write(world, group, 'a');
  expect(isLearnerOf(world, after)).toBe(false);
  await learner.start();
  await world.until(() => [before, after].every((group) => isLearnerOf(world, group)), 'a learner again');
  for (const group of [before, after]) expect(await readAt(world, learner, group)).toEqual(['a']);
  expect(world.failures).toEqual([]);
});

it('a learner is decommissioned while voters are down, and its groups release it', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const group = await created(world, 'shop');
  await world.until(() => isLearnerOf(world, group), 'a learner');
  const leader = await world.leader(CATALOG_GROUP);
  const gone = world.up.find((each) => each !== leader && each !== learner);
  await gone?.crash();
  const done = await world.answer(leader.core.admin.order({ kind: 'decommission', node: LEARNER }));
  expect(done).toMatchObject({ kind: 'done', node: { state: 'leaving' } });
  await world.until(() => world.failures.length > 0, 'the end of the node');
  expect(world.failures.map(({ message }) => message)).toEqual([expect.stringMatching(/^Node 4 was removed/)]);
  await learner.crash();
  await world.leader(group);
  await world.until(() => !isLearnerOf(world, group), 'a group without it');
  const next = await created(world, 'new');
  await write(world, next, 'a');
  expect(isLearnerOf(world, next)).toBe(false);
});

it('a database is recovered (C25) although a learner still names the leader that has lost its quorum', async () => {
  const world = await keptWorld(6, { learners: [6] });
  await join(world, [2, 3, 4, 5, 6]);
  await world.pass(3_000);
  const { group, replicas } = await world.create('shop');
  await write(world, group, 'a');
  const learner = world.at(toNodeId(6));
  await world.until(() => learner.front.readable(group) === 1, 'a learner of the group');
  const { node: from } = await world.leader(group);
  for (const node of replicas.map(nodeOf)) if (node !== from) await world.at(node).crash();
  await world.pass(15_000);
  expect(world.leaderOf(group)).toBeUndefined();
  const copies = world.up.flatMap(({ core }) => core.admin.copyOf('shop') ?? []);
  const order = { kind: 'recover', name: 'shop', from, acceptRevision: 1, copies } as const;
  const { core } = await world.leader(CATALOG_GROUP);
  expect(await world.answer(core.admin.recover(order))).toMatchObject({ kind: 'recovered' });
  const isThere = (): boolean => {
    const next = learner.front.catalog.lookup('shop');
    return next !== undefined && next.group !== group && learner.front.readable(next.group) === 1;
  };
  await world.until(isThere, 'a learner of the recovered database', 60_000);
  expect(world.failures).toEqual([]);
});

it('a learner that is put back to an earlier copy of its disk gets again what it had', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const [kept, deleted] = [await created(world, 'shop'), await created(world, 'gone')];
  for (const group of [kept, deleted]) await write(world, group, 'a');
  await world.until(() => [kept, deleted].every((group) => learner.front.readable(group) === 1), 'what it has');
  await world.pass(1_000);
  const putBack = await learner.copyDisks();
  await write(world, kept, 'b');
  await world.until(() => learner.front.readable(kept) === 2, 'more of it');
  await learner.crash();
  const { front } = await world.leader(CATALOG_GROUP);
  await world.answer(front.deleteDatabase('gone'));
  const again = await created(world, 'gone');
  for (const group of [kept, again]) await write(world, group, 'c');
  putBack();
  await learner.start();
  expect(await readAt(world, learner, kept)).toEqual(['a', 'b', 'c']);
  await world.until(() => learner.core.membershipOf(deleted) === undefined, 'no replica of the deleted database');
  await world.until(() => learner.front.readable(again) === 1, 'the database that was created again');
  expect(learner.core.health.diverged).toBe(0);
  expect(world.failures).toEqual([]);
});

it('a store that has joined as a learner is refused as a voter, and the reverse', async () => {
  const { world } = await poolWorld();
  await join(world, [LEARNER]);
  const { core } = await world.leader(CATALOG_GROUP);
  const ask = (node: number, isLearner: boolean): Promise<unknown> =>
    world.answer(core.admin.register({ ...registrationOf(node), isLearner }, false));
  const reason = 'its store is node 4, which joined with --learner true; start it so';
  expect(await ask(4, false)).toEqual({ kind: 'refused', reason });
  expect(await ask(3, true)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/node 3, .* false/) });
});

it('the damaged replica of a learner leads to no placement (C46)', async () => {
  const { world, learner } = await poolWorld();
  await join(world, [LEARNER]);
  const group = await created(world, 'shop');
  await world.until(() => isLearnerOf(world, group), 'a learner of the group');
  await world.until(() => bindingOf(learner, group)?.isSettled === true, 'a settled placement');
  await world.pass(3_000);
  const entries = (): number =>
    learner.log.durable.filter((each) => 'group' in each && each.group === CATALOG_GROUP).length;
  const before = entries();
  learner.core.damaged(group);
  await world.pass(10_000);
  expect(entries()).toBe(before);
  expect(isLearnerOf(world, group)).toBe(true);
});
