// Goal: databases are led by all nodes alike, whoever led them first; a lead stays where it should be, and goes to
// nobody who leaves or cannot take it. Method: a table; nodes over a network in memory.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, nodeOf, toNodeId } from '#base';
import { preferredLeader } from '#cluster';
import { isAt, join, keptWorld } from '../../support/cluster/kept-world.ts';
import { bindingOn } from '../../support/cluster/layouts.ts';
import type { ReplicaWorld } from '../../support/cluster/replica-world.ts';

describe('who should lead a database', () => {
  it.each([
    ['another one for each', [1, 2, 3], [1, 2, 3], [2, 3, 1, 2]],
    ['of those who stay', [1, 2, 3], [1, 3], [3, 1, 3, 1]],
    ['the one that holds it', [2], [1, 2], [2, 2, 2, 2]],
    ['nobody, if nobody stays', [2], [1], [undefined, undefined, undefined, undefined]],
  ])('is %s', (_name, held, active, leaders) => {
    const nodes = new Set(active.map(toNodeId));
    const found = [1, 2, 3, 4].map((group) => preferredLeader(bindingOn(group, held), nodes));
    expect(found.map((replica) => replica && nodeOf(replica))).toEqual(leaders);
  });

  it('is nobody while the database moves', () => {
    const binding = { ...bindingOn(1, [1, 2]), isSettled: false };
    expect(preferredLeader(binding, new Set([1, 2].map(toNodeId)))).toBeUndefined();
  });
});

function leadersOf(world: ReplicaWorld, groups: readonly GroupId[]): string {
  return groups.map((group) => world.leaderOf(group)?.node ?? '-').join(' ');
}

describe('leads', () => {
  it('go back to all nodes when one that was away returns, and stay there', async () => {
    const world = await keptWorld(3);
    await join(world, [2, 3]);
    await world.pass(3_000);
    const catalog = await world.leader(CATALOG_GROUP);
    const groups: GroupId[] = [];
    for (const name of ['one', 'two', 'three']) {
      groups.push((await world.answer(catalog.front.createDatabase(name))).binding.group);
    }
    for (const group of groups) await world.until(() => isAt(world, group, [1, 2, 3]), `group ${group} on three nodes`);
    await world.until(() => leadersOf(world, groups) === '2 3 1', 'leads on all nodes', 60_000);
    await world.at(toNodeId(3)).crash();
    await world.until(() => world.leaderOf(groups[1] ?? CATALOG_GROUP) !== undefined, 'another leader');
    // Nobody hands over to one that is away.
    await world.pass(40_000);
    expect(leadersOf(world, groups)).toMatch(/^2 [12] 1$/);
    await world.at(toNodeId(3)).start();
    await world.pass(25_000);
    expect(leadersOf(world, groups)).toMatch(/^2 [12] 1$/);
    await world.until(() => leadersOf(world, groups) === '2 3 1', 'leads on all nodes', 30_000);
    await world.pass(60_000);
    expect(leadersOf(world, groups)).toBe('2 3 1');
    for (const group of groups) {
      const leader = await world.leader(group);
      expect((await world.answer(leader.transact(group, 'a'))).revision).toBe(1);
    }
    expect(world.failures).toEqual([]);
  });
});
