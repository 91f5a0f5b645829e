// Goal: leaderships are distributed evenly, no node that leaves gets one, and only changed databases are examined.
// Method: a table; nodes in memory; counts of examinations.
import { describe, expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  type GroupId,
  type NodeId,
  nodeOf,
  replicaOf,
  toGroupId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import { LIMITS, preferredLeader } from '#cluster';
import { membershipOf } from '#raft';
import type { Group } from '../../../../src/cluster/group/group.ts';
import { LeaderBalance } from '../../../../src/cluster/group/leader-balance.ts';
import type { CatalogMachine } from '../../../../src/cluster/machine.ts';
import { isAt, joinedWorld } from '../../../support/cluster/kept-world.ts';
import { bindingOn } from '../../../support/cluster/layouts.ts';
import type { ReplicaWorld } from '../../../support/cluster/replica-world.ts';

it.each([
  ['a different one for each', [1, 2, 3], [1, 2, 3], [2, 3, 1, 2]],
  ['one of those that stay', [1, 2, 3], [1, 3], [3, 1, 3, 1]],
  ['the only one with a replica', [2], [1, 2], [2, 2, 2, 2]],
  ['undefined when no node with a replica stays', [2], [1], [undefined, undefined, undefined, undefined]],
])('the preferred leader of a database is %s', (_name, held, active, leaders) => {
  const nodes = new Set(active.map(toNodeId));
  const found = [1, 2, 3, 4].map((group) => preferredLeader(bindingOn(group, held), nodes));
  expect(found.map((replica) => replica && nodeOf(replica))).toEqual(leaders);
});

it('the preferred leader of a database is undefined while the database moves', () => {
  const binding = { ...bindingOn(1, [1, 2]), isSettled: false };
  expect(preferredLeader(binding, new Set([1, 2].map(toNodeId)))).toBeUndefined();
});

function leadersOf(world: ReplicaWorld, groups: readonly GroupId[]): string {
  return groups.map((group) => world.leaderOf(group)?.node ?? '-').join(' ');
}

it('leaderships return to all nodes when a stopped node returns, and stay there', async () => {
  const world = await joinedWorld(3);
  const groups: GroupId[] = [];
  for (const name of ['one', 'two', 'three']) groups.push((await world.create(name)).group);
  for (const group of groups) await world.until(() => isAt(world, group, [1, 2, 3]), `group ${group} on three nodes`);
  await world.until(() => leadersOf(world, groups) === '2 3 1', 'leads on all nodes', 60_000);
  await world.at(toNodeId(3)).crash();
  await world.until(() => world.leaderOf(groups[1] ?? CATALOG_GROUP) !== undefined, 'another leader');
  // Leaderships are not transferred to a stopped node.
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

class IdleGroup {
  readonly self = replicaOf(toNodeId(1));
  readonly isAlone = false;
  readonly isAtRest = true;
  leads = true;
  readonly id: GroupId;
  readonly timeless = {
    membership: membershipOf([1, 2, 3].map((node) => replicaOf(toNodeId(node)))),
    changes: [],
    commit: toLogIndex(1),
    role: { kind: 'leader', transfer: undefined, first: toLogIndex(1) },
  };

  constructor(id: number) {
    this.id = toGroupId(id);
  }
}

function idleNode(
  count: number,
  isUnfit: (node: NodeId) => boolean = () => false,
): {
  readonly balance: LeaderBalance;
  readonly led: ReadonlySet<Group>;
  readonly looks: () => number;
  readonly handedOver: Group[];
} {
  const led = new Set(Array.from({ length: count }, (_, at) => new IdleGroup(at + 1) as unknown as Group));
  const handedOver: Group[] = [];
  let looks = 0;
  const catalog = {
    nodes: () => [1, 2, 3].map((node) => ({ node: toNodeId(node), state: 'active' })),
    bindingOf: (group: GroupId) => {
      looks += 1;
      return bindingOn(group, [1, 2, 3]);
    },
  } as unknown as CatalogMachine;
  const step = (group: Group): unknown => handedOver.push(group);
  const balance = new LeaderBalance({
    catalog: () => catalog,
    led: () => led,
    limits: LIMITS,
    isUnfit,
    step,
  });
  return { balance, led, looks: () => looks, handedOver };
}

describe('the balance of a node that leads thousands of databases', () => {
  it('examines only databases that have changed', () => {
    const { balance, led, looks } = idleNode(3_000);
    balance.drive(0);
    expect(looks()).toBe(3_000);
    balance.drive(10_000);
    const [first, second] = led;
    if (first === undefined || second === undefined) throw new Error('There are databases');
    balance.review(first);
    balance.note(second, { kind: 'became-leader', term: toTerm(2), first: toLogIndex(2) });
    balance.drive(20_000);
    expect(looks()).toBe(3_002);
  });

  it('transfers none to a node that is leaving', () => {
    const { balance, handedOver } = idleNode(300, (node) => node === toNodeId(2));
    for (const nowMs of [0, 2 * LIMITS.leaderRestMs, 4 * LIMITS.leaderRestMs]) balance.drive(nowMs);
    expect(new Set(handedOver.map(({ id }) => id % 3))).toEqual(new Set([2]));
  });

  it('transfers some of them in each examination without other events', () => {
    const { balance, led, handedOver } = idleNode(300);
    const misplaced = [...led].filter(({ id }) => id % 3 !== 0);
    balance.drive(0);
    balance.drive(LIMITS.leaderRestMs - 1);
    expect(handedOver).toEqual([]);
    for (let look = 1; look <= 3; look += 1) {
      balance.drive(LIMITS.leaderRestMs + look * LIMITS.leaderLookMs);
      expect(handedOver).toEqual(misplaced.slice(0, look * LIMITS.idleTransfersMax));
    }
  });
});
