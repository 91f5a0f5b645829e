// Goal: a new database is led by the one that asks first, however long that takes: nobody asks for a lead that another
// one is about to have, nor for one that it would know of if it had not stood still. Method: nodes over a network in
// memory, of which some have slow disks or stand still.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, type NodeId, toNodeId } from '#base';
import type { Input, Step } from '#raft';
import { join, keptWorld } from '../../support/cluster/kept-world.ts';
import { ReplicaWorld } from '../../support/cluster/replica-world.ts';

/** The groups that get their numbers from 1 on are led by nodes 2, 3 and 1 of three. */
const FIRST_LEADER = toNodeId(2);

interface Stepped {
  readonly node: NodeId;
  readonly input: Input;
  readonly isLeader: boolean;
}

async function threeNodes(onStep: (stepped: Stepped, world: ReplicaWorld) => void): Promise<ReplicaWorld> {
  const told: { world?: ReplicaWorld } = {};
  const stepped = (node: NodeId, input: Input, { state }: Step): void => {
    if (told.world !== undefined) onStep({ node, input, isLeader: state.role.kind === 'leader' }, told.world);
  };
  const world = await keptWorld(3, { stepped });
  await join(world, [2, 3]);
  await world.pass(5_000);
  told.world = world;
  return world;
}

async function create(world: ReplicaWorld): Promise<GroupId> {
  const { front } = await world.leader(CATALOG_GROUP);
  const { binding } = await world.answer(front.createDatabase('shop'));
  return binding.group;
}

function isAsked({ kind, ...input }: Input): boolean {
  return kind === 'receive' && 'message' in input && input.message.kind === 'vote-request';
}

describe('the replicas of a new database', () => {
  it('do not ask for its lead while their votes for another one are on their way', async () => {
    const asking: NodeId[] = [];
    let votes = 0;
    const world = await threeNodes(({ node, input }, nodes) => {
      if (input.kind === 'campaign') asking.push(node);
      if (!isAsked(input)) return;
      votes += 1;
      nodes.at(node).holdDisk(true);
    });
    const group = await create(world);
    await world.until(() => votes === 2, 'two votes');
    await world.pass(1_000);
    for (const node of world.up) node.holdDisk(false);
    await world.until(() => world.leaderOf(group) !== undefined, 'a leader', 500);
    expect([world.leaderOf(group)?.node, asking]).toEqual([FIRST_LEADER, [FIRST_LEADER]]);
    expect(world.failures).toEqual([]);
  });

  it('hear first what has arrived while they stood still (C10)', async () => {
    const asking: NodeId[] = [];
    let isLed = false;
    const world = await threeNodes(({ node, input, isLeader }) => {
      isLed ||= isLeader && node === FIRST_LEADER;
      if (input.kind === 'campaign') asking.push(node);
    });
    const group = await create(world);
    await world.until(() => isLed, 'a leader of which nobody has heard');
    world.nowMs += 2_000;
    for (const node of world.up) node.core.tick();
    await world.pass(1_000);
    expect([world.leaderOf(group)?.node, asking]).toEqual([FIRST_LEADER, [FIRST_LEADER]]);
    expect(world.failures).toEqual([]);
  });
});

describe('the groups of a node that has ended', () => {
  it('ask for their leads few at a time, and all of them get one', async () => {
    const campaignsMax = 3;
    const asked = new Map<string, number>();
    const times: { nowMs: () => number } = { nowMs: () => 0 };
    const stepped = (node: NodeId, { kind }: Input): void => {
      const look = `${node} ${times.nowMs()}`;
      if (kind === 'campaign') asked.set(look, (asked.get(look) ?? 0) + 1);
    };
    const world = await ReplicaWorld.started(3, { stepped, limits: { campaignsMax } });
    times.nowMs = () => world.nowMs;
    const { front } = await world.leader(CATALOG_GROUP);
    const groups: GroupId[] = [CATALOG_GROUP];
    for (let at = 0; at < 45; at += 1) {
      groups.push((await world.answer(front.createDatabase(`db-${at}`))).binding.group);
    }
    await world.pass(3_000);
    const ended = await world.leader(groups.at(-1) ?? CATALOG_GROUP);
    asked.clear();
    await ended.crash();
    await world.until(() => groups.every((group) => world.leaderOf(group) !== undefined), 'a leader of each', 1_500);
    expect(Math.max(...asked.values())).toBe(campaignsMax);
    expect(world.failures).toEqual([]);
  });
});
