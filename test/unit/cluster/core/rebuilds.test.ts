// Goal: a node whose rows of one database are damaged serves the others while it rebuilds them (C43), whatever happens
// meanwhile. Method: one node on a simulated disk, whose rebuilds wait for the test.
import { expect, it } from 'vitest';
import { type GroupId, LEVELS, toGroupId } from '#base';
import { RowKeys } from '#database';
import type { Machines } from '../../../../src/cluster/machine.ts';
import { BLOCK_BYTES } from '../../../../src/storage/segments/segment-format.ts';
import { CoreWorld, settle } from '../../../support/cluster/core-world.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { startTrio } from '../../../support/cluster/replica-world.ts';
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

async function expectNotServed({ node }: CoreWorld, group: GroupId): Promise<void> {
  expect(node.absence(group)).toMatchObject(NOT_SERVED);
  await expect(node.confirmedLatest(group)).rejects.toMatchObject(NOT_SERVED);
  await expect(node.transact(group, databaseKit.payload('four'))).rejects.toMatchObject(NOT_SERVED);
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
  const { world, shop, other, release } = await rebuilding(({ kv: { disk } }, group) => {
    const path = disk.files.find((each) => each.includes(group.toString(16).padStart(8, '0'))) ?? '';
    const bytes = disk.file(path);
    bytes[BLOCK_BYTES + 20] = (bytes[BLOCK_BYTES + 20] ?? 0) ^ 1;
  });
  release();
  await settle();
  await expectNotServed(world, shop);
  expect(await world.transact(other, 'four')).toMatchObject({ kind: 'committed', revision: 4 });
  const says = expect.stringContaining(`of the history of group ${shop} cannot be read`);
  expect(world.notes.at(-1)).toEqual({ kind: 'damaged', group: shop, fault: says });
  world.pass(1000);
  await settle();
  expect([world.core.health.rebuilds.damaged, world.failures]).toEqual([1, []]);
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
