// Goal: whoever leads a group takes it to the membership that is wanted, whatever was begun before, and costs nothing
// when it is there (C13). Method: five nodes over a network in memory, of which the first founds the catalog alone.

import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, replicaOf, toNodeId } from '#base';
import { clusterOf } from '#cluster';
import { isAt, type Target } from '#raft';
import { ReplicaWorld } from '../../../support/cluster/replica-world.ts';

const nodes = [1, 2, 3, 4, 5].map(toNodeId);

function of(voters: readonly number[], learners: readonly number[] = []): Target {
  const replica = (node: number): ReturnType<typeof replicaOf> => replicaOf(toNodeId(node));
  return { voters: voters.map(replica), learners: learners.map(replica) };
}

async function founded(founders = 1): Promise<ReplicaWorld> {
  const world = await ReplicaWorld.started(nodes.length, {
    cluster: (all, node) => ({
      ...clusterOf(all.slice(0, founders), node),
      // Databases are there to be written into the catalog: nobody else needs to hold them.
      placement: { replicas: () => [replicaOf(toNodeId(1))] },
    }),
  });
  await world.leader(CATALOG_GROUP);
  return world;
}

async function reach(world: ReplicaWorld, target: Target, msMax = 20_000): Promise<void> {
  world.want(CATALOG_GROUP, target);
  await reached(world, target, msMax);
}

async function reached(world: ReplicaWorld, target: Target, msMax = 20_000): Promise<void> {
  const isThere = (): boolean => {
    const membership = world.leaderOf(CATALOG_GROUP)?.core.membershipOf(CATALOG_GROUP);
    return membership !== undefined && isAt(membership, target);
  };
  await world.until(isThere, JSON.stringify(target), msMax);
  expect(world.failures).toEqual([]);
}

async function create(world: ReplicaWorld, name: string): Promise<void> {
  const leader = await world.leader(CATALOG_GROUP);
  await world.answer(leader.front.createDatabase(name));
}

/** The databases, as each of these nodes knows them. */
async function names(world: ReplicaWorld, some: readonly number[]): Promise<readonly string[]> {
  await world.pass(1500);
  return some.map((node) =>
    world
      .at(toNodeId(node))
      .front.catalog.list()
      .map(({ name }) => name)
      .join(' '),
  );
}

describe('the driver of memberships (C13)', () => {
  it('grows a group from one member to three and five, and back, and everybody has everything', async () => {
    const world = await founded();
    await create(world, 'a');
    await reach(world, of([1, 2, 3]));
    await create(world, 'b');
    expect(await names(world, [1, 2, 3, 4])).toEqual(['a b', 'a b', 'a b', '']);
    await reach(world, of([1, 2, 3, 4, 5]));
    await create(world, 'c');
    expect(await names(world, [1, 2, 3, 4, 5])).toEqual(Array(5).fill('a b c'));
    await reach(world, of([1]));
    await create(world, 'd');
    expect(await names(world, [1, 5])).toEqual(['a b c d', 'a b c']);
  });

  it('costs nothing when the group is what it should be', async () => {
    const world = await founded();
    const alone = world.at(toNodeId(1)).core;
    world.want(CATALOG_GROUP, of([1]));
    await world.pass(500);
    // The catalog of one node leads alone and waits for nothing.
    expect(alone.deadlineMs).toBeUndefined();
    await reach(world, of([1, 2, 3]));
    await world.pass(2000);
    // The next beat, and nothing before it.
    expect(alone.deadlineMs).toBe((Math.floor(world.nowMs / 500) + 1) * 500);
  });
});
