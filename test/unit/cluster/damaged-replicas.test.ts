// Goal: a replica with a damaged history is replaced (C46), and no placement or new member waits for it (C47).
// Method: nodes over a network in memory, some of them with changed bytes in a history.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf } from '#base';
import { damageHistory, endWithDamage } from '../../support/cluster/damaged-history.ts';
import { bindingOf, isAt, REPLACE_AFTER_MS, shopOnThree } from '../../support/cluster/kept-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import type { ReplicaWorld, WorldNode } from '../../support/cluster/replica-world.ts';

const TEXTS = ['one', 'two', 'three'];

interface Written {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly leader: WorldNode;
  readonly followers: readonly [WorldNode, WorldNode];
}

async function write(world: ReplicaWorld, group: GroupId, text: string): Promise<void> {
  await world.answer((await world.leader(group)).front.transact(group, databaseKit.payload(text)));
}

/** A database on three nodes, which all have its transactions. */
async function written(): Promise<Written> {
  const { world, group } = await shopOnThree();
  for (const text of TEXTS) await write(world, group, text);
  await world.pass(1_000);
  const leader = await world.leader(group);
  const [one, other] = world.up.filter((each) => each !== leader);
  if (one === undefined || other === undefined) throw new Error('There are two followers');
  return { world, group, leader, followers: [one, other] };
}

it.each([
  ['one copy', 1],
  ['two copies', 2],
])('a database that asks for %s, one of them damaged, has as many as it asks for (C46)', async (_, copies) => {
  const { world, group, leader, followers } = await written();
  const [hurt] = followers;
  await endWithDamage(hurt, group, 'two');
  // The leader of the group knows that the node is down, and so does not begin the change.
  await world.pass(5_000);
  const { core } = await world.leader(CATALOG_GROUP);
  // The choice of a planner that has not learned yet that the node is down.
  core.place(group, [hurt.node, leader.node].slice(0, copies));
  await world.answer(core.admin.order({ kind: 'set-copies', name: 'shop', databaseId: undefined, copies }));
  await world.pass(300);
  expect(bindingOf(leader, group)).toMatchObject({ isSettled: false });
  await hurt.start();
  const isDone = (): boolean => {
    const binding = bindingOf(leader, group);
    return binding?.isSettled === true && binding.replicas.length === copies;
  };
  await world.until(isDone, 'a settled placement', 60_000);
  expect(bindingOf(leader, group)?.replicas.map(nodeOf)).not.toContain(hurt.node);
  await write(world, group, 'four');
  expect(world.failures).toEqual([]);
});

it.each([
  ['follows', false],
  ['leads', true],
])('a damaged replica that %s stays while one of two others is lost, and is replaced later (C46)', async (_, leads) => {
  const { world, group, leader, followers } = await written();
  const [follower, gone] = followers;
  await gone.crash();
  await world.pass(REPLACE_AFTER_MS + 5_000);
  const hurt = leads ? leader : follower;
  const before = bindingOf(leader, group);
  hurt.core.damaged(group);
  await world.pass(30_000);
  expect(bindingOf(leader, group)).toEqual(before);
  expect(world.leaderOf(group)).toBe(leader);
  await gone.start();
  const isKept = (): boolean =>
    before?.replicas.every((each) => bindingOf(hurt, group)?.replicas.includes(each)) !== false;
  const isReplaced = (): boolean => isAt(world, group, [1, 2, 3]) && !isKept();
  await world.until(isReplaced, 'another replica', 60_000);
  await write(world, group, 'four');
  expect(world.failures).toEqual([]);
});

it('two replicas with damage in different places are replaced, also while one of them leads (C47)', async () => {
  const { world, group, leader, followers } = await written();
  const [hurt] = followers;
  const before = bindingOf(leader, group)?.replicas ?? [];
  damageHistory(leader.kv, group, 'one');
  await endWithDamage(hurt, group, 'two');
  await hurt.start();
  leader.core.damaged(group);
  const kept = (): number => before.filter((each) => bindingOf(leader, group)?.replicas.includes(each)).length;
  await world.until(() => isAt(world, group, [1, 2, 3]) && kept() === 1, 'two other replicas', 120_000);
  await write(world, group, 'four');
  await world.pass(1_000);
  for (const node of world.up) expect(await databaseKit.history(node.kv, group)).toEqual([...TEXTS, 'four']);
  expect(world.failures).toEqual([]);
});
