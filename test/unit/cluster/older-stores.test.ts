// Goal: no copy forgets what it has acknowledged because the store of its node has lost synced writes, and the catalog
// there is older than the log beside it: the log of a copy ends only where the store says that the copy has ended.
// Method: three nodes in one thread, one of which starts on its store as it was before.

import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId } from '#base';
import { trashKey } from '../../../src/cluster/store/node-rows.ts';
import { ReplicaWorld, type WorldNode } from '../../support/cluster/replica-world.ts';

const DISAGREE = { details: { reason: 'StoreAndLogDisagree' } };
const NO_CHECKPOINT_MS = 3_600_000;

/** No log says that a store has more than nothing, so that only the groups in it tell which of both is older. */
async function started(): Promise<{
  readonly world: ReplicaWorld;
  readonly leader: WorldNode;
  readonly node: WorldNode;
}> {
  const world = await ReplicaWorld.started(3, { limits: { checkpointIntervalMs: NO_CHECKPOINT_MS } });
  const leader = await world.leader(CATALOG_GROUP);
  const node = world.up.find((each) => each !== leader);
  if (node === undefined) throw new Error('Somebody follows');
  await world.pass(500);
  return { world, leader, node };
}

async function create(world: ReplicaWorld, leader: WorldNode): Promise<GroupId> {
  const { binding } = await world.answer(leader.front.createDatabase('shop'));
  const holder = await world.leader(binding.group);
  await world.answer(holder.transact(binding.group, 'one'));
  await world.pass(500);
  return binding.group;
}

describe('a node whose store is older than its log', () => {
  it('does not start without a database that its log goes on with (C7)', async () => {
    const { world, leader, node } = await started();
    const before = await node.kv.crash(() => true);
    const group = await create(world, leader);
    await node.crash();
    node.kv = before;
    const { length } = node.log.durable;
    await expect(node.start()).rejects.toMatchObject({
      ...DISAGREE,
      message: expect.stringContaining(`no copy of group ${group}, whose log goes on`),
    });
    expect(node.log.durable).toHaveLength(length);
  });

  it('does not start with a database whose log has ended (C7)', async () => {
    const { world, leader, node } = await started();
    const group = await create(world, leader);
    // With the catalog, and nothing that was applied to the database.
    const before = await node.kv.crash(() => false);
    await world.answer(leader.front.deleteDatabase('shop'));
    await world.pass(500);
    await node.crash();
    expect(node.log.recover().tombstones).toEqual(new Set([group]));
    node.kv = before;
    await expect(node.start()).rejects.toMatchObject({
      ...DISAGREE,
      message: expect.stringContaining(`a copy of group ${group}, whose log has ended`),
    });
  });
});

describe('a node that died before a deleted database had ended in its log', () => {
  it('knows of the end in its store until the log does, and starts in between (C8)', async () => {
    const { world, leader, node } = await started();
    const group = await create(world, leader);
    const isMarked = (): boolean => node.kv.get(trashKey(group)) !== undefined;
    node.holdDisk(true);
    const deleted = leader.front.deleteDatabase('shop');
    await world.until(() => node.log.queuedCount > 0, 'the entry');
    node.log.sync();
    await world.until(isMarked, 'its rows');
    await world.answer(deleted);
    await node.crash();
    node.log.isAutomatic = false;
    await node.start();
    await world.pass(1000);
    expect([isMarked(), node.log.recover().groups.has(group)]).toEqual([true, true]);
    await node.crash();
    await node.start();
    await world.pass(1000);
    expect([isMarked(), node.log.recover().groups.has(group)]).toEqual([false, false]);
    expect(world.failures).toEqual([]);
  });
});
