// Goal: replicas and votes of a lost node are replaced, of databases and of the catalog. Method: nodes over a network
// in memory.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, toNodeId } from '#base';
import {
  bindingOf,
  isAt,
  join,
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
