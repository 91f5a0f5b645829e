// Goal: a store that requests its registration gets one number, regardless of changes of the leader (D14), and a node
// that cannot register it names the leader. Method: nodes over a network in memory.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP } from '#base';
import { registrationOf } from '../../../support/cluster/kept-world.ts';
import { ReplicaWorld, type WorldNode } from '../../../support/cluster/replica-world.ts';
import { placeOf } from '../../../support/peer-nodes.ts';

interface Started {
  readonly world: ReplicaWorld;
  readonly leader: WorldNode;
  readonly follower: WorldNode;
}

async function started(): Promise<Started> {
  const world = await ReplicaWorld.started(3);
  const leader = await world.leader(CATALOG_GROUP);
  const follower = world.up.find((each) => each !== leader);
  if (follower === undefined) throw new Error('There are three nodes');
  await world.pass(1_000);
  return { world, leader, follower };
}

async function registerAll({ world, leader }: Started): Promise<void> {
  for (const node of world.nodes) await world.answer(leader.core.admin.register(registrationOf(node), true));
}

describe('a store that requests its registration', () => {
  it('gets the next number from the leader, and the same for repeated requests (D14)', async () => {
    const all = await started();
    const { world, leader } = all;
    await registerAll(all);
    const answer = await world.answer(leader.core.admin.register(registrationOf(4), false));
    expect(answer).toMatchObject({ kind: 'registered', node: { node: 4, state: 'active' } });
    expect(await world.answer(leader.core.admin.register(registrationOf(4), false))).toEqual(answer);
    const moved = await world.answer(
      leader.core.admin.register({ ...registrationOf(4), peer: { host: '127.0.0.1', port: 9 } }, false),
    );
    expect(moved).toMatchObject({ kind: 'registered', node: { node: 4, peer: { port: 9 } } });
    await world.pass(1_000);
    for (const { core, front } of world.up) {
      expect(core.catalog.nodes.map(({ node }) => node)).toEqual([1, 2, 3, 4]);
      expect(front.catalog.nodes()).toEqual(core.catalog.nodes);
    }
  });

  it.each([
    ['the host "a\\nb"', { peer: { host: 'a\nb', port: 1 } }],
    ['the host ""', { peer: { host: '', port: 1 } }],
    ['the port 65536', { peer: { host: 'a', port: 65_536 } }],
    ['the name "a b"', { name: 'a b' }],
    ['the store_id', { storeId: placeOf(4).store.toUpperCase() }],
  ])('is rejected without a proposal for %s', async (fault, wrong) => {
    const all = await started();
    const { world, leader } = all;
    await registerAll(all);
    const before = leader.core.catalog.nodes;
    const answer = await world.answer(leader.core.admin.register({ ...registrationOf(4), ...wrong }, false));
    expect(answer).toEqual({ kind: 'refused', reason: expect.stringContaining(fault) });
    await world.pass(500);
    expect(leader.core.catalog.nodes).toEqual(before);
  });

  it('does not get the name of another store that is being registered', async () => {
    const all = await started();
    const { world, leader } = all;
    await registerAll(all);
    const first = leader.core.admin.register({ ...registrationOf(4), name: 'e' }, false);
    const second = leader.core.admin.register({ ...registrationOf(5), name: 'e' }, false);
    expect(await world.answer(first)).toMatchObject({ node: { node: 4 } });
    expect(await world.answer(second)).toEqual({
      kind: 'refused',
      reason: 'another node joins with the name e; start this one with another --node-name',
    });
    await world.pass(10_000);
    const later = await world.answer(leader.core.admin.register({ ...registrationOf(6), name: 'e' }, false));
    expect(later).toMatchObject({ kind: 'registered' });
  });

  it('is not registered when it disconnects before the leader has proposed it', async () => {
    const all = await started();
    const { world, leader } = all;
    await registerAll(all);
    const first = leader.core.admin.register(registrationOf(4), false);
    const caller = new AbortController();
    const second = leader.core.admin.register(registrationOf(5), false, caller.signal);
    caller.abort();
    expect(await world.answer(second)).toEqual({ kind: 'later', reason: 'its caller has gone' });
    expect(await world.answer(first)).toMatchObject({ kind: 'registered' });
    await world.pass(1_000);
    expect(leader.core.catalog.nodes.map(({ node }) => node)).toEqual([1, 2, 3, 4]);
  });

  it('is registered when it disconnects after the leader has proposed it', async () => {
    const all = await started();
    const { world, leader } = all;
    await registerAll(all);
    const caller = new AbortController();
    const answer = leader.core.admin.register(registrationOf(4), false, caller.signal);
    caller.abort();
    expect(await world.answer(answer)).toMatchObject({ kind: 'registered' });
  });

  it('receives the address of the leader from other nodes, once the leader has registered', async () => {
    const all = await started();
    const { world, leader, follower } = all;
    expect(await world.answer(follower.core.admin.register(registrationOf(4), false))).toMatchObject({ kind: 'later' });
    await registerAll(all);
    await world.pass(1_000);
    const { peer } = registrationOf(leader.node);
    expect(await world.answer(follower.core.admin.register(registrationOf(4), false))).toEqual({
      kind: 'elsewhere',
      leader: peer,
    });
  });

  it('is never reported as removed by a catalog that does not have it yet (C39)', async () => {
    const all = await started();
    const { world, leader, follower } = all;
    await registerAll(all);
    await world.pass(1_000);
    for (const each of world.up) if (each !== follower) world.network.cut(follower.node, each.node);
    expect(await world.answer(leader.core.admin.register(registrationOf(4), false))).toMatchObject({
      kind: 'registered',
    });
    await world.pass(1_000);
    const behind = (): readonly number[] => follower.core.catalog.nodes.map(({ node }) => node);
    expect(behind()).toEqual([1, 2, 3]);
    const answers: string[] = [];
    for (let asked = 0; asked < 3; asked += 1) {
      answers.push((await world.answer(follower.core.admin.register(registrationOf(4), false))).kind);
      await world.pass(3_000);
    }
    expect(answers.every((kind) => kind === 'later' || kind === 'elsewhere')).toBe(true);
    expect(behind()).toEqual([1, 2, 3]);
    world.network.heal();
    await world.until(() => behind().length === 4, 'a catalog that has caught up');
    expect(await world.answer(follower.core.admin.register(registrationOf(4), false))).toMatchObject({
      kind: 'registered',
    });
  });

  it('has an MCP address, which is stored once', async () => {
    const registration = { ...registrationOf(1), mcp: 'http://127.0.0.1:3001' };
    const world = await ReplicaWorld.started(1);
    const leader = await world.leader(CATALOG_GROUP);
    await world.answer(leader.core.admin.register(registration, true));
    const known = leader.core.catalog;
    expect(known.nodes.map(({ mcp }) => mcp)).toEqual([registration.mcp]);
    expect(await world.answer(leader.core.admin.register(registration, true))).toMatchObject({ kind: 'registered' });
    expect(leader.core.catalog).toEqual(known);
    expect(world.failures).toEqual([]);
  });

  it('waits for the first node, which is number 1 of its own cluster', async () => {
    const { world, leader } = await started();
    const early = await world.answer(leader.core.admin.register(registrationOf(4), false));
    expect(early).toEqual({ kind: 'later', reason: 'the node has not registered itself yet' });
    expect(leader.core.catalog.nodes).toEqual([]);
  });
});
