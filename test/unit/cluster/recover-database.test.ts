// Goal: a database without a quorum continues with all data of one replica, as a new database, through any crash (C24,
// C25). Method: five nodes, of which two with a replica are stopped.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type GroupId, nodeOf } from '#base';
import type { Binding, HeldCopy } from '#cluster';
import { isAt, joinedWorld } from '../../support/cluster/kept-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import type { ReplicaWorld, WorldNode } from '../../support/cluster/replica-world.ts';
import { serviceOf } from '../../support/cluster/world-service.ts';
import { ManualTimers } from '../../support/service-world.ts';

const NAME = 'shop';

interface Lost {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly texts: readonly string[];
  /** The remaining node with a replica, and the stopped ones. */
  readonly left: WorldNode;
  readonly gone: readonly WorldNode[];
}

async function fiveNodes(
  count: number,
): Promise<Omit<Lost, 'left' | 'gone'> & { readonly holders: readonly WorldNode[] }> {
  const world = await joinedWorld(5);
  const { group, replicas } = await world.create(NAME);
  const holders = replicas.map(nodeOf);
  await world.until(() => isAt(world, group, holders), 'a database on three nodes');
  const texts: string[] = [];
  const leader = await world.leader(group);
  for (let at = 0; at < count; at += 10) {
    const some = Array.from({ length: 10 }, (_, place) => `text ${at + place}`);
    await Promise.all(some.map((text) => world.answer(leader.transact(group, text))));
    texts.push(...some);
  }
  await world.pass(1_000);
  return { world, group, texts, holders: holders.map((node) => world.at(node)) };
}

/** The same cluster after two of the three nodes have stopped. */
async function twoLost(count = 20): Promise<Lost> {
  const { holders, ...rest } = await fiveNodes(count);
  const { world, group } = rest;
  const catalog = await world.leader(CATALOG_GROUP);
  const left = holders.find((each) => each.node === catalog.node) ?? holders[0];
  if (left === undefined) throw new Error('There are three');
  const gone = holders.filter((each) => each !== left);
  for (const each of gone) await each.crash();
  await world.pass(11_000);
  expect(world.leaderOf(group)).toBeUndefined();
  return { ...rest, left, gone };
}

function copiesIn(world: ReplicaWorld): readonly HeldCopy[] {
  return world.up.flatMap(({ core }) => core.admin.copyOf(NAME) ?? []);
}

async function recover(world: ReplicaWorld, from: WorldNode, acceptRevision?: number) {
  const leader = await world.leader(CATALOG_GROUP);
  const order = { kind: 'recover', name: NAME, from: from.node, acceptRevision, copies: copiesIn(world) } as const;
  return world.answer(leader.core.admin.recover(order));
}

async function beginRecovery(world: ReplicaWorld, from: WorldNode): Promise<void> {
  const leader = await world.leader(CATALOG_GROUP);
  const acceptRevision = from.core.admin.copyOf(NAME)?.revision;
  const order = { kind: 'recover', name: NAME, from: from.node, acceptRevision, copies: copiesIn(world) } as const;
  leader.core.admin.recover(order).catch(() => undefined);
}

function bound({ core }: WorldNode): Binding | undefined {
  return core.catalog.bindings.find(({ name }) => name === NAME);
}

async function groupNow(world: ReplicaWorld): Promise<GroupId> {
  const leader = await world.leader(CATALOG_GROUP);
  const binding = bound(leader);
  if (binding === undefined) throw new Error('It has a name');
  return binding.group;
}

async function rowsOf({ kv }: WorldNode, group: GroupId): Promise<number> {
  const range = kv.range({ ...databaseKit.machines.rowsOf(group), values: false });
  let count = 0;
  for (let rows = await range.next(1000); rows.length > 0; rows = await range.next(1000)) count += rows.length;
  await range.close();
  return count;
}

async function endsWith(world: ReplicaWorld, texts: readonly string[]): Promise<void> {
  const group = await groupNow(world);
  const leader = await world.leader(group);
  const onThree = (): boolean => bound(leader)?.replicas.length === 3 && bound(leader)?.isSettled === true;
  await world.until(onThree, 'three copies', 60_000);
  const holders = bound(leader)?.replicas.map(nodeOf) ?? [];
  for (const node of holders) {
    await world.answer(world.at(node).front.latest(group));
    expect(await world.at(node).history(group)).toEqual(texts);
  }
}

describe('a database that is recovered (C24, C25)', () => {
  it('continues with all data of its last replica as a new database, and returning nodes drop the old one', async () => {
    const { world, group, texts, left, gone } = await twoLost();
    const before = bound(left);
    expect(await recover(world, left)).toMatchObject({ kind: 'faulty', reason: /nothing was recovered/ });
    expect(await recover(world, left, 19)).toMatchObject({ kind: 'faulty', reason: /and not revision 19\./ });
    expect(await recover(world, left, 20)).toMatchObject({
      kind: 'recovered',
      database: { name: NAME, before: before?.databaseId, node: left.node, revision: 20 },
    });
    expect(await recover(world, left, 20)).toMatchObject({ kind: 'recovered' });
    const next = await groupNow(world);
    expect(next).not.toBe(group);
    const leader = await world.leader(next);
    expect(leader.node).toBe(left.node);
    const again = await world.answer(leader.front.transact(next, databaseKit.payload('text 3')));
    expect(again).toMatchObject({ kind: 'replayed', revision: 4 });
    expect(await world.answer(leader.transact(next, 'after'))).toMatchObject({ kind: 'committed', revision: 21 });
    await endsWith(world, [...texts, 'after']);
    expect(await recover(world, left, 20)).toMatchObject({ kind: 'recovered' });
    for (const each of gone) await each.start();
    await world.pass(15_000);
    for (const each of world.up) expect(await rowsOf(each, group)).toBe(0);
    expect(left.log.recover().tombstones).toContain(group);
    await endsWith(world, [...texts, 'after']);
    expect(await recover(world, left)).toMatchObject({
      kind: 'faulty',
      reason: /has a leader, node \d: there is nothing/,
    });
    expect(world.failures).toEqual([]);
  });

  it('is not readable in an earlier state while its rows are copied, and waits for disk space', async () => {
    const { world, texts, left } = await twoLost();
    left.core.reportDisk('refusing-writes');
    await beginRecovery(world, left);
    await world.until(() => bound(left)?.recovery !== undefined, 'a recovery');
    const next = await groupNow(world);
    const timers = new ManualTimers();
    const service = serviceOf(world, left.node, timers);
    const cached = () =>
      service.databaseAt({ databaseName: NAME, at: 'cached', signal: new AbortController().signal }).then(
        ({ revision }) => revision,
        (failure: unknown) => (failure instanceof DatabaseError ? failure.details.reason : String(failure)),
      );
    const told = cached();
    await world.pass(100);
    timers.pass(1_000);
    expect(await world.answer(told)).toBe('BeingRecovered');
    await world.pass(2_000);
    expect(await rowsOf(left, next)).toBe(0);
    left.core.reportDisk('open');
    await endsWith(world, texts);
    expect(await world.answer(cached())).toBe(20);
  });
});
