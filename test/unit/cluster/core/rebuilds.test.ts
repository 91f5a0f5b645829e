// Goal: a node whose rows of one database are damaged serves the others while it rebuilds them (C43), whatever happens
// meanwhile. Method: one node on a simulated disk, whose rebuilds wait for the test.
import { expect, it } from 'vitest';
import { type GroupId, LEVELS, nodeOf, type ReplicaId, toGroupId } from '#base';
import { RowKeys } from '#database';
import { HistoryFault } from '#kv';
import type { Machines } from '../../../../src/cluster/machine.ts';
import { CoreWorld, settle } from '../../../support/cluster/core-world.ts';
import { damageHistory, endWithDamage } from '../../../support/cluster/damaged-history.ts';
import { bindingOf, isAt, shopOnThree } from '../../../support/cluster/kept-world.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { type ReplicaWorld, startTrio, type WorldNode } from '../../../support/cluster/replica-world.ts';
import { withMethods } from '../../../support/with-methods.ts';

const TEXTS = ['one', 'two', 'three'];

interface Damaged {
  readonly world: CoreWorld;
  /** Its rows are damaged. */
  readonly shop: GroupId;
  readonly other: GroupId;
  /** Lets the rebuilds continue. */
  readonly release: () => void;
  /** Rebuilds that have begun. */
  readonly begun: GroupId[];
}

/** A node that has started with damaged rows, and whose rebuild waits. */
async function rebuilding(prepare: (world: CoreWorld, shop: GroupId) => void = () => undefined): Promise<Damaged> {
  const { world, group: shop } = await CoreWorld.withShop({ trashDelayMs: 0 });
  const other = await world.create('other');
  for (const text of TEXTS) for (const group of [shop, other]) await world.transact(group, text);
  await settle();
  await world.crash();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const begun: GroupId[] = [];
  const rebuild: Machines['rebuild'] = async (store, binding, durable, mayContinue) => {
    begun.push(binding.group);
    await promise;
    return mayContinue(0) && databaseKit.machines.rebuild(store, binding, durable, mayContinue);
  };
  world.machines = withMethods(databaseKit.machines, { rebuild });
  world.log = world.log.crash(0);
  world.kv = await world.kv.crash(() => true);
  const batch = world.kv.batch();
  batch.del(new RowKeys(shop).position(2));
  await world.kv.write(batch);
  prepare(world, shop);
  await world.start({ damaged: new Set([shop]) });
  await settle();
  return { world, shop, other, release, begun };
}

const NOT_SERVED = { code: 'unavailable', details: { reason: 'BeingRebuilt' } };

/** Nothing invites a client to try again. */
const DAMAGED = {
  code: 'internal',
  details: { reason: 'DatabaseDamaged' },
  message: expect.stringMatching(
    /^The events of the database "shop" on this node are damaged, and revision 1 cannot be /,
  ),
};

async function expectNotServed({ node }: CoreWorld, group: GroupId, refusal: object = NOT_SERVED): Promise<void> {
  expect(node.absence(group)).toMatchObject(refusal);
  await expect(node.confirmedLatest(group)).rejects.toMatchObject(refusal);
  await expect(node.transact(group, databaseKit.payload('four'))).rejects.toMatchObject(refusal);
  expect([node.readable(group), node.answered(group), node.leaderOf(group)]).toEqual([0, 0, undefined]);
}

it('a node serves its other databases while the rows of one are rebuilt', async () => {
  const { world, shop, other, release } = await rebuilding();
  expect(world.core.health.rebuilds).toMatchObject({ groups: 1, damaged: 1, bytes: expect.any(Number) });
  await expectNotServed(world, shop);
  expect(await world.transact(other, 'four')).toMatchObject({ kind: 'committed', revision: 4 });
  expect(await world.history(other)).toEqual([...TEXTS, 'four']);
  release();
  await world.rebuild();
  expect(world.node.absence(shop)).toBeUndefined();
  expect(await world.node.latest(shop)).toBe(3);
  expect(await world.transact(shop, 'four')).toMatchObject({ kind: 'committed', revision: 4 });
  expect(await world.history(shop)).toEqual([...TEXTS, 'four']);
  expect(world.core.health.rebuilds).toEqual({ groups: 0, damaged: 0, bytes: 0 });
  expect(world.notes.map(({ kind }) => kind)).toEqual(['rebuilding', 'rebuilt']);
  expect(world.failures).toEqual([]);
});

it('a start continues a rebuild that a crash or a drain has interrupted, without a note', async () => {
  const { world, shop, release } = await rebuilding();
  const drained = world.core.drain();
  release();
  await drained;
  world.machines = databaseKit.machines;
  await world.crash();
  expect(world.rebuilt).toEqual([shop, shop]);
  expect(await world.history(shop)).toEqual(TEXTS);
});

it('a node clears the rows of a database that is deleted during its rebuild, when that has stopped', async () => {
  const { world, shop, release } = await rebuilding();
  const rows = new RowKeys(shop).all();
  const left = async (): Promise<number> => (await world.kv.range(rows).next(100)).length;
  await world.node.deleteDatabase('shop');
  for (let tick = 0; tick < 3; tick += 1) {
    world.pass(1000);
    await settle();
  }
  expect(await left()).toBeGreaterThan(0);
  release();
  await settle();
  world.pass(1000);
  await settle();
  expect([await left(), world.core.rebuilding, world.failures]).toEqual([0, [], []]);
  const next = await world.create('shop');
  await world.transact(next, 'one');
  expect(await world.history(next)).toEqual(['one']);
});

it('a database with a damaged history stays out of service, and nothing else does', async () => {
  const { world, shop, other, release } = await rebuilding(({ kv }, group) => damageHistory(kv, group, 'two'));
  release();
  await settle();
  await expectNotServed(world, shop, DAMAGED);
  expect(await world.transact(other, 'four')).toMatchObject({ kind: 'committed', revision: 4 });
  const says = expect.stringContaining(`of the history of group ${shop} cannot be read`);
  expect(world.notes.at(-1)).toEqual({ kind: 'damaged', group: shop, revision: 1, fault: says });
  world.pass(1000);
  await settle();
  expect([world.core.health.rebuilds.damaged, world.failures]).toEqual([1, []]);
});

it('a database that cannot be opened because of its history is out of service, and keeps its rows', async () => {
  const { world, group: shop } = await CoreWorld.withShop();
  await world.transact(shop, 'one');
  const other = await world.create('other');
  await settle();
  const fault = { isMissing: false, text: 'block 1 does not match its checksum' };
  const openDatabase: Machines['openDatabase'] = (kv, group) => {
    if (group === shop) throw new HistoryFault(shop, { from: 0, to: 9 }, fault);
    return databaseKit.machines.openDatabase(kv, group);
  };
  world.machines = withMethods(databaseKit.machines, { openDatabase });
  await world.crash();
  const refusal = { details: { reason: 'DatabaseDamaged' }, message: expect.stringContaining('some revisions cannot') };
  await expect(world.node.confirmedLatest(shop)).rejects.toMatchObject(refusal);
  await expectNotServed(world, shop, refusal);
  expect(await world.transact(other, 'two')).toMatchObject({ kind: 'committed', revision: 1 });
  world.pass(1000);
  await settle();
  expect([world.core.health.rebuilds.damaged, world.failures]).toEqual([1, []]);
  // Its rows are whole, and the next start tries again.
  world.machines = databaseKit.machines;
  await world.crash();
  expect(await world.history(shop)).toEqual(['one']);
});

it('a rebuild waits while the disk is full', async () => {
  const { world, shop, release, begun } = await rebuilding();
  world.disk = 'refusing-writes';
  release();
  await settle();
  world.pass(1000);
  await settle();
  expect([begun, world.core.rebuilding]).toEqual([[shop], [shop]]);
  world.disk = 'open';
  world.pass(1000);
  await world.rebuild();
  expect(begun).toEqual([shop, shop]);
  expect(await world.history(shop)).toEqual(TEXTS);
});

it('other replicas serve a database while the rows of one are rebuilt, which then follows them', async () => {
  const { world, group, leader, others } = await startTrio();
  await world.answer(leader.transact(group, 'one'));
  await world.pass(1000);
  await leader.crash();
  const batch = leader.kv.batch();
  batch.del(new RowKeys(group).applied());
  await leader.kv.write(batch);
  await leader.kv.checkpointFiles();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const rebuild: Machines['rebuild'] = async (...all) => {
    await promise;
    return databaseKit.machines.rebuild(...all);
  };
  leader.release = { levels: LEVELS, machines: withMethods(databaseKit.machines, { rebuild }) };
  await leader.start();
  const nodes = expect.arrayContaining(others.map(({ node }) => node));
  const elsewhere = { reason: 'NotReplica', holders: { group, nodes } };
  expect(leader.front.absence(group)).toMatchObject({ code: 'not_leader', details: elsewhere });
  await world.answer((await world.leader(group)).transact(group, 'two'));
  await world.pass(3000);
  expect([leader.core.membershipOf(group), leader.front.readable(group)]).toEqual([undefined, 0]);
  release();
  await world.until(() => leader.front.readable(group) === 2, 'the rows of the second transaction');
  expect(leader.front.absence(group)).toBeUndefined();
  expect(await databaseKit.history(leader.kv, group)).toEqual(['one', 'two']);
});

/** Restarts a node that does not lead the group, with a damaged history and without its applied row. */
async function hurtFollower(world: ReplicaWorld, group: GroupId): Promise<WorldNode> {
  const leader = await world.leader(group);
  for (const text of TEXTS) await world.answer(leader.front.transact(group, databaseKit.payload(text)));
  await world.pass(1000);
  const hurt = world.up.find((each) => each !== leader && each.core.membershipOf(group) !== undefined);
  if (hurt === undefined) throw new Error('The group has a follower');
  await endWithDamage(hurt, group, 'two');
  await hurt.start();
  await world.until(() => hurt.historyNotes.at(-1)?.kind === 'damaged', 'the damage');
  return hurt;
}

function replicaOn({ node }: WorldNode, of: WorldNode, group: GroupId): ReplicaId | undefined {
  return bindingOf(of, group)?.replicas.find((replica) => nodeOf(replica) === node);
}

it('other replicas replace one whose history is damaged, which votes again when it has all of it (C46)', async () => {
  const { world, group } = await shopOnThree();
  const hurt = await hurtFollower(world, group);
  const leader = await world.leader(group);
  const before = replicaOn(hurt, leader, group);
  expect([before !== undefined, hurt.core.membershipOf(group)]).toEqual([true, undefined]);
  await world.until(() => replicaOn(hurt, leader, group) === undefined, 'the end of the damaged replica');
  await world.answer((await world.leader(group)).front.transact(group, databaseKit.payload('four')));
  const isReplaced = (): boolean => isAt(world, group, [1, 2, 3]) && hurt.front.readable(group) === 4;
  await world.until(isReplaced, 'another replica', 60_000);
  expect(hurt.front.absence(group)).toBeUndefined();
  expect(replicaOn(hurt, hurt, group)).not.toBe(before);
  expect(hurt.core.health.rebuilds).toEqual({ groups: 0, bytes: 0, damaged: 0 });
  expect(await databaseKit.history(hurt.kv, group)).toEqual([...TEXTS, 'four']);
  expect(world.failures).toEqual([]);
});

it.each([
  ['follows', false],
  ['leads', true],
])('other replicas replace one that %s its group, whose rows are whole (C46)', async (_, isLeader) => {
  const { world, group } = await shopOnThree();
  const leader = await world.leader(group);
  for (const text of TEXTS) await world.answer(leader.front.transact(group, databaseKit.payload(text)));
  const hurt = world.up.find((each) => (each === leader) === isLeader) ?? leader;
  const before = replicaOn(hurt, leader, group);
  hurt.core.damaged(group);
  const isReplaced = (): boolean => isAt(world, group, [1, 2, 3]) && replicaOn(hurt, hurt, group) !== before;
  await world.until(isReplaced, 'another replica', 60_000);
  await world.until(() => hurt.front.readable(group) === TEXTS.length, 'its rows');
  expect(await databaseKit.history(hurt.kv, group)).toEqual(TEXTS);
  const after = replicaOn(hurt, hurt, group);
  await world.pass(5000);
  expect(replicaOn(hurt, hurt, group)).toBe(after);
});

it('a damaged replica is kept while the other one is no majority without it', async () => {
  const { world, group, leader } = await startTrio();
  const two = [leader.node, ...world.nodes.filter((node) => node !== leader.node)].slice(0, 2);
  leader.core.place(group, two);
  await world.until(() => isAt(world, group, two), 'a database on two nodes');
  const hurt = await hurtFollower(world, group);
  await world.pass(10_000);
  expect(bindingOf(hurt, group)).toMatchObject({ isSettled: true, replicas: { length: 2 } });
  const nodes = two.filter((node) => node !== hurt.node);
  const elsewhere = { reason: 'NotReplica', holders: { group, nodes } };
  expect(hurt.front.absence(group)).toMatchObject({ code: 'not_leader', details: elsewhere });
});

it('rows of a damaged group that the node does not have are removed', async () => {
  const { world } = await CoreWorld.withShop();
  const stray = toGroupId(77);
  const batch = world.kv.batch();
  batch.put(new RowKeys(stray).applied(), Uint8Array.of(1, 2));
  await world.kv.write(batch);
  await world.crash({ damaged: new Set([stray]) });
  expect(world.kv.get(new RowKeys(stray).applied())).toBeUndefined();
  expect(world.rebuilt).toEqual([]);
});
