// Goal: replicas and votes of a lost node are replaced, of databases and of the catalog. Method: nodes over a network
// in memory.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, toDatabaseId, toNodeId } from '#base';
import {
  bindingOf,
  FIRST,
  isAt,
  join,
  joinedWorld,
  keptWorld,
  REPLACE_AFTER_MS,
  registrationOf,
  shopOnThree,
} from '../../support/cluster/kept-world.ts';
import type { ReplicaWorld } from '../../support/cluster/replica-world.ts';

async function write(world: ReplicaWorld, group: GroupId, text: string): Promise<number> {
  const writer = world.leaderOf(group) ?? world.up.find((member) => bindingOf(member, group) !== undefined);
  if (writer === undefined) throw new Error('Nobody knows the database');
  return (await world.answer(writer.transact(group, text))).revision;
}

it('a node that is lost (C18, C19) is replaced after a while, with its replicas and its vote, and gets none back when it returns', async () => {
  const { world, group } = await shopOnThree(4);
  await write(world, group, 'a');
  const gone = world.at(toNodeId(2));
  await gone.crash();
  await world.leader(CATALOG_GROUP);
  await world.pass(REPLACE_AFTER_MS / 2);
  expect(bindingOf(await world.leader(CATALOG_GROUP), group)?.replicas.map(nodeOf)).toEqual([1, 2, 3]);
  await world.pass(REPLACE_AFTER_MS / 2);
  await world.until(() => isAt(world, group, [1, 3, 4]), 'a database on the nodes that are left');
  const voters = (): string =>
    String(world.leaderOf(CATALOG_GROUP)?.core.membershipOf(CATALOG_GROUP)?.voters.incoming.map(nodeOf));
  await world.until(() => voters() === '1,3,4', 'other voters of the catalog');
  expect(await write(world, group, 'b')).toBe(2);
  await gone.start();
  await world.until(() => isAt(world, group, [1, 3, 4]), 'the same as before');
  await world.pass(5_000);
  expect(gone.core.membershipOf(group)).toBeUndefined();
  expect(isAt(world, group, [1, 3, 4])).toBe(true);
  expect(world.failures).toEqual([]);
});

it('a node that has lost its disk is replaced as soon as another store has joined at its address (C18, C19)', async () => {
  const world = await keptWorld(4);
  await join(world, [2, 3]);
  await world.pass(3_000);
  const { group } = await world.create();
  await world.until(() => isAt(world, group, [1, 2, 3]), 'a database on three nodes');
  await world.at(toNodeId(2)).crash();
  const leader = await world.leader(CATALOG_GROUP);
  const { name, peer } = registrationOf(2);
  await world.answer(leader.core.admin.register({ ...registrationOf(4), name, peer }, false));
  const voters = (): string =>
    String(world.leaderOf(CATALOG_GROUP)?.core.membershipOf(CATALOG_GROUP)?.voters.incoming.map(nodeOf));
  const beganMs = world.nowMs;
  await world.until(() => isAt(world, group, [1, 3, 4]) && voters() === '1,3,4', 'a place for the new store');
  expect(world.nowMs - beganMs).toBeLessThan(REPLACE_AFTER_MS / 2);
  expect(world.failures).toEqual([]);
});

it('a database has as many replicas as it asks for (C19), whatever the cluster is set to', async () => {
  const world = await joinedWorld(3);
  const { core } = await world.leader(CATALOG_GROUP);
  const other = world.up.find((each) => each.core !== core) ?? world.at(FIRST);
  const { binding } = await world.answer(other.front.createDatabase('shop', { copies: 1 }));
  const { group, databaseId } = binding;
  const set = (copies: number): Promise<unknown> =>
    world.answer(core.admin.order({ kind: 'set-copies', name: 'shop', databaseId, copies }));
  await world.pass(5_000);
  const count = (): number | undefined => bindingOf(world.at(FIRST), group)?.replicas.length;
  expect(count()).toBe(1);
  await write(world, group, 'a');
  expect(await set(3)).toEqual({ kind: 'copies-set' });
  expect(await set(3)).toEqual({ kind: 'copies-set' });
  await world.until(() => isAt(world, group, [1, 2, 3]), 'three replicas');
  expect(await set(1)).toEqual({ kind: 'copies-set' });
  await world.until(() => count() === 1, 'one replica');
  expect(await write(world, group, 'b')).toBe(2);
  expect(await set(0)).toEqual({ kind: 'copies-set' });
  await world.until(() => isAt(world, group, [1, 2, 3]), 'as many as others');
  expect(await write(world, group, 'c')).toBe(3);
  expect(world.failures).toEqual([]);
});

it('a change of the copies is refused for a database, or an instance, that does not exist', async () => {
  const world = await joinedWorld(3);
  const { databaseId } = await world.create();
  const { core } = await world.leader(CATALOG_GROUP);
  const ask = (name: string, id: typeof databaseId | undefined): Promise<unknown> =>
    world.answer(core.admin.order({ kind: 'set-copies', name, databaseId: id, copies: 3 }));
  const fault = { kind: 'faulty', code: 'not_found' };
  expect(await ask('books', undefined)).toEqual({ ...fault, reason: 'there is no database books' });
  const other = toDatabaseId('0198c0de-0000-7000-8000-00000000cafe');
  const reason = `there is no database shop with the id ${other}`;
  expect(await ask('shop', other)).toEqual({ ...fault, reason });
  expect(await ask('shop', databaseId)).toEqual({ kind: 'copies-set' });
  const follower = world.up.find((each) => each.core !== core);
  const order = { kind: 'set-copies', name: 'shop', databaseId, copies: 1 } as const;
  expect(await world.answer(follower?.core.admin.order(order) ?? Promise.reject(new Error()))).toMatchObject({
    kind: 'elsewhere',
  });
});
