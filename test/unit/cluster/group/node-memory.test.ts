// Goal: the memory of all groups of a node has one limit, each group has a share of it (C35), and a slow node stops
// reading. Method: one node and three, small limits, stalled disks.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId } from '#base';
import { isWithinShare } from '../../../../src/cluster/group/node-memory.ts';
import { CoreWorld, settle } from '../../../support/cluster/core-world.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { reasonOf } from '../../../support/cluster/outcomes.ts';
import { ReplicaWorld, type WorldNode } from '../../../support/cluster/replica-world.ts';

const TEXT = 'x'.repeat(100);
/** Memory of an entry with this text. */
const ENTRY_BYTES = 64 + databaseKit.payload(TEXT).length;

async function withDatabases(count: number, bytesMax: number): Promise<{ world: CoreWorld; groups: GroupId[] }> {
  const world = await CoreWorld.started({ memoryBytesMax: bytesMax });
  const groups: GroupId[] = [];
  for (let at = 0; at < count; at++) {
    const group = await world.create(`shop-${at}`);
    await world.transact(group, 'warm');
    groups.push(group);
  }
  await settle();
  return { world, groups };
}

it('the memory of a node limits the entries of all databases that wait for the disk, and each database has its share (C35)', async () => {
  const { world, groups } = await withDatabases(9, 40 * ENTRY_BYTES);
  const [busy, ...others] = groups;
  if (busy === undefined) throw new Error('There are nine');
  expect(world.core.health.heldBytes).toBe(0);
  world.log.isAutomatic = false;
  const asked: Promise<string | undefined>[] = [];
  // In ten turns, five entries each.
  for (let times = 0; times < 10; times++) {
    for (let left = 5; left > 0; left--) asked.push(reasonOf(world.transact(busy, TEXT)));
    await settle();
  }
  expect(world.core.health.heldBytes).toBe(20 * ENTRY_BYTES);
  const late = others.map((group) => reasonOf(world.transact(group, TEXT)));
  await settle();
  expect(world.core.health.heldBytes).toBe(28 * ENTRY_BYTES);
  for (let times = 0; times < 50; times++) {
    for (const group of others) asked.push(reasonOf(world.transact(group, TEXT)));
    await settle();
  }
  expect(world.core.health.heldBytes).toBeLessThanOrEqual(40 * ENTRY_BYTES);
  world.log.isAutomatic = true;
  world.log.sync();
  const outcomes = await Promise.all(asked);
  expect(new Set(outcomes)).toEqual(new Set(['answered', 'ReplicationMemory']));
  expect(outcomes.slice(0, 50).filter((outcome) => outcome === 'answered')).toHaveLength(20);
  expect(new Set(await Promise.all(late))).toEqual(new Set(['answered']));
  await settle();
  expect(world.core.health.heldBytes).toBe(0);
});

it('n groups that take all they can get have an (n + 1)th each, and a group without memory gets some', () => {
  for (const count of [1, 2, 3, 10]) {
    const held = Array.from({ length: count }, () => 0);
    const left = (): number => 1000 - held.reduce((sum, own) => sum + own, 0);
    for (let turns = 0; turns < 1000; turns++) {
      for (const [at, own] of held.entries()) if (isWithinShare({ own, added: 1 }, left())) held[at] = own + 1;
    }
    for (const own of held) expect(Math.abs(own - 1000 / (count + 1))).toBeLessThanOrEqual(1);
    expect(isWithinShare({ own: 0, added: 10_000 }, left())).toBe(true);
    expect(isWithinShare({ own: 0, added: 1 }, 0)).toBe(false);
  }
});

async function started(
  bytesMax: number,
  names: readonly string[],
): Promise<{ world: ReplicaWorld; groups: GroupId[] }> {
  const world = await ReplicaWorld.started(3, { limits: { memoryBytesMax: bytesMax } });
  const groups: GroupId[] = [];
  for (const name of names) {
    const { group } = await world.create(name);
    await world.leader(group);
    groups.push(group);
  }
  await world.pass(500);
  return { world, groups };
}

function another(world: ReplicaWorld, ...those: readonly (WorldNode | undefined)[]): WorldNode {
  const found = world.up.find((each) => !those.includes(each));
  if (found === undefined) throw new Error('There are three nodes');
  return found;
}

it('in a cluster a node with a stalled disk has no room for entries of others until the disk works again', async () => {
  const { world, groups } = await started(40 * ENTRY_BYTES, ['shop']);
  const [shop = CATALOG_GROUP] = groups;
  const leader = await world.leader(shop);
  const slow = another(world, leader, world.leaderOf(CATALOG_GROUP));
  slow.holdDisk(true);
  let told = 0;
  for (let times = 0; times < 20; times++) {
    await world.answer(leader.transact(shop, TEXT));
    await world.pass(10);
    void slow.core.room()?.then(() => (told += 1));
  }
  expect(slow.core.room()).toBeInstanceOf(Promise);
  expect(leader.core.room()).toBeUndefined();
  expect(told).toBe(0);
  slow.holdDisk(false);
  await world.pass(100);
  expect(slow.core.room()).toBeUndefined();
  expect(told).toBeGreaterThan(0);
  expect(world.failures).toEqual([]);
});

it('a leader releases entries that it keeps for a stopped node when a write of the database needs memory (C35)', async () => {
  const { world, groups } = await started(40 * ENTRY_BYTES, ['shop']);
  const [shop = CATALOG_GROUP] = groups;
  const leader = await world.leader(shop);
  await another(world, leader, world.leaderOf(CATALOG_GROUP)).crash();
  for (let times = 0; times < 8; times++) await world.answer(leader.transact(shop, TEXT));
  expect(await world.answer(reasonOf(leader.transact(shop, 'x'.repeat(30 * ENTRY_BYTES))))).toBe('answered');
  expect(world.failures).toEqual([]);
});
