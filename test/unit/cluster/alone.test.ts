// Goal: a node that is alone in its cluster knows the latest revision without its core, never less than it has
// answered, and asks its core again as soon as another node may exist (C32). Method: the front while its core is
// stalled.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId } from '#base';
import { settle } from '../../support/cluster/core-world.ts';
import { registrationOf } from '../../support/cluster/kept-world.ts';
import { ReplicaWorld, type WorldNode } from '../../support/cluster/replica-world.ts';

interface Started {
  readonly world: ReplicaWorld;
  readonly member: WorldNode;
  readonly group: GroupId;
}

/** A database with one transaction, whose latest revision was read once. */
async function asked(count: number): Promise<Started> {
  const world = await ReplicaWorld.started(count);
  const member = await world.leader(CATALOG_GROUP);
  const { group } = await world.create();
  await world.answer(member.transact(group, 'x'));
  await world.answer(member.front.latest(group));
  return { world, member, group };
}

async function whileStalled({ world, member, group }: Started): Promise<number | undefined> {
  member.stall();
  let found: number | undefined;
  const read = member.front.latest(group).then((revision) => (found = revision));
  await settle();
  const seen = found;
  member.resume();
  await world.answer(read);
  return seen;
}

async function register({ world, member }: Started, store: number): Promise<unknown> {
  return world.answer(member.core.admin.register(registrationOf(store), store === member.node));
}

it('latest at a node that is alone (C32) is known without the core', async () => {
  expect(await whileStalled(await asked(1))).toBe(1);
});

it('latest at a node that is alone (C32) includes acknowledged writes, and waits for their rows', async () => {
  const { world, member, group } = await asked(1);
  const gate = Promise.withResolvers<void>();
  member.kv.gate = gate.promise;
  expect(await world.answer(member.transact(group, 'y'))).toMatchObject({ kind: 'committed', revision: 2 });
  let found: number | undefined;
  const read = member.front.latest(group).then((revision) => (found = revision));
  await settle();
  expect(found).toBeUndefined();
  gate.resolve();
  expect(await world.answer(read)).toBe(2);
});

it('latest at a node that is alone (C32) asks the core from the moment when another node is registered', async () => {
  const all = await asked(1);
  await register(all, 1);
  expect([all.member.core.isAlone, await whileStalled(all)]).toEqual([true, 1]);
  await register(all, 2);
  expect([all.member.core.isAlone, await whileStalled(all)]).toEqual([false, undefined]);
});
