// Goal: a node that ends transfers its leaderships a few at a time, gets none, and ends in bounded time (C33). Method:
// nodes in memory with a manual clock; requests to campaign that are lost.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf, toNodeId } from '#base';
import { LIMITS } from '#cluster';
import type { Input } from '#raft';
import type { DrainNote } from '../../../../src/cluster/core/drain.ts';
import { joinedWorld } from '../../../support/cluster/kept-world.ts';
import { watch } from '../../../support/cluster/outcomes.ts';
import { ReplicaWorld, type WorldNode } from '../../../support/cluster/replica-world.ts';

const LONG_MS = 10_000;
const DATABASES = 24;

interface Cluster {
  readonly world: ReplicaWorld;
  readonly groups: readonly [GroupId, ...GroupId[]];
  readonly leader: WorldNode;
  readonly others: readonly [WorldNode, WorldNode];
  readonly handOvers: () => number;
}

async function started(count = DATABASES): Promise<Cluster> {
  const orders: NodeId[] = [];
  const stepped = (node: NodeId, { kind }: Input): void => {
    if (kind === 'transfer-leadership') orders.push(node);
  };
  const world = await ReplicaWorld.started(3, { stepped });
  const groups: GroupId[] = [];
  for (let at = 0; at < count; at += 1) groups.push((await world.create(`db-${at}`)).group);
  for (const group of groups) await world.leader(group);
  const [leader, one, other] = world.up;
  const [first, ...rest] = groups;
  if (leader === undefined || one === undefined || other === undefined || first === undefined) {
    throw new Error('There are three nodes and some databases');
  }
  // All leaderships move to this node.
  world.network.isHeld = (_from, to, { message }) => to !== leader.node && message.kind === 'timeout-now';
  const gathered = [one.front.leave(LONG_MS), other.front.leave(LONG_MS)];
  await world.until(() => groups.every((group) => leader.leads(group)), 'one leader of all');
  await world.answer(Promise.all(gathered));
  for (const each of [one, other]) {
    // A node that was asked to leave restarts as a new process.
    await each.crash();
    await each.start();
    await world.pass(3_000);
  }
  world.network.isHeld = () => false;
  orders.length = 0;
  const handOvers = (): number => orders.filter((node) => node === leader.node).length;
  return { world, groups: [first, ...rest], leader, others: [one, other], handOvers };
}

describe('a node that leaves (C33)', () => {
  it('has few transfers in progress at a time, and continues when they are finished', async () => {
    const { world, groups, leader, handOvers } = await started();
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'timeout-now';
    const left = watch(leader.front.leave(LONG_MS));
    await world.pass(LIMITS.transferWaitMs / 2);
    expect([handOvers(), left.end]).toEqual([LIMITS.transfersMax, undefined]);
    world.network.isHeld = () => false;
    await world.until(() => left.end === 'answered', 'nothing left', 2_000);
    expect(groups.filter((group) => leader.leads(group))).toEqual([]);
    expect(leader.front.unfinished).toEqual({ leads: 0, requests: 0 });
    expect(world.failures).toEqual([]);
  });

  it('distributes its leaderships evenly among the others', async () => {
    const { world, groups, leader, others } = await started();
    await world.answer(leader.front.leave(LONG_MS));
    await world.pass(500);
    const counts = others.map((other) => groups.filter((group) => other.leads(group)).length);
    expect(counts).toEqual([DATABASES / 2, DATABASES / 2]);
    expect(world.failures).toEqual([]);
  });

  it('gives a slow transfer target more time, and then transfers to another node', async () => {
    const { world, groups, leader, others, handOvers } = await started(6);
    const [deaf, target] = others;
    world.network.isHeld = (_from, to, { message }) => to === deaf.node && message.kind === 'timeout-now';
    const left = watch(leader.front.leave(LONG_MS));
    await world.pass(2 * LIMITS.transferWaitMs);
    const asked = handOvers();
    expect(groups.filter((group) => leader.leads(group))).not.toEqual([]);
    await world.until(() => left.end === 'answered', 'nothing left', 2 * LIMITS.transferWaitMs);
    await world.until(() => groups.every((group) => target.leads(group)), 'the other leader', 500);
    // The catalog is one of them.
    expect([asked, handOvers() > asked]).toEqual([groups.length + 1, true]);
    expect(world.failures).toEqual([]);
  });

  it('keeps leaderships that no node takes, and accepts writes there after the attempts', async () => {
    const { world, groups, leader } = await started(2);
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'timeout-now';
    const left = watch(leader.front.leave(LONG_MS));
    await world.pass(100);
    const written = watch(leader.transact(groups[0], 'meanwhile'));
    const sinceMs = world.nowMs;
    await world.until(
      () => written.end === 'answered',
      'the write',
      LIMITS.electionWindowMs + 4 * LIMITS.transferWaitMs,
    );
    expect(leader.leads(groups[0])).toBe(true);
    await world.until(() => left.end === 'answered', 'the end of the attempt', LIMITS.transfersIdleMs);
    expect(world.nowMs - sinceMs).toBeLessThan(LONG_MS);
    expect(leader.front.unfinished).toEqual({ leads: 2, requests: 0 });
    expect(world.failures).toEqual([]);
  });
});

describe('a node that drains and stays', () => {
  it('transfers its leaderships, gets none while others can have them, and keeps those that it gets afterwards', async () => {
    const { world, groups, leader, others } = await started(6);
    const [one, other] = others;
    const notes: DrainNote[] = [];
    leader.core.onDrain((note) => notes.push(note));
    for (let times = 0; times < 2; times += 1) leader.core.drainInPlace();
    await world.until(() => notes.length === 2, 'the end of the hand-over');
    // The catalog is one of them.
    expect(notes).toEqual([
      { phase: 'began', leads: groups.length + 1 },
      { phase: 'handed-over', leads: 0 },
    ]);
    expect(groups.filter((group) => leader.leads(group))).toEqual([]);
    await one.crash();
    await world.until(() => groups.every((group) => other.leads(group)), 'the only one that takes leaderships');
    await one.start();
    await world.pass(LIMITS.leavingMs);
    for (let times = 0; times < 2; times += 1) expect(leader.core.undrain()).toBe(true);
    expect(notes.at(-1)).toEqual({ phase: 'ended', leads: 0 });
    await world.pass(LIMITS.leavingMs);
    other.core.drainInPlace();
    await world.until(() => !groups.some((group) => other.leads(group)), 'leaderships of the two');
    await world.pass(LIMITS.electionWindowMs);
    expect(groups.filter((group) => leader.leads(group))).toHaveLength(groups.length / 2);
    expect([notes.length, world.failures]).toEqual([3, []]);
  });

  it('reports only its last drain as transferred, when an earlier one was cancelled', async () => {
    const { world, leader } = await started(2);
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'timeout-now';
    const phases: string[] = [];
    leader.core.onDrain(({ phase }) => phases.push(phase));
    leader.core.drainInPlace();
    leader.core.undrain();
    leader.core.drainInPlace();
    await world.pass(100);
    expect(phases).toEqual(['began', 'ended', 'began']);
    world.network.isHeld = () => false;
    await world.until(() => phases.length === 4, 'the end of the hand-over');
    expect([phases.at(-1), world.failures]).toEqual(['handed-over', []]);
  });

  it('ends on request, and cannot be put into service again then', async () => {
    const { world, groups, leader } = await started(2);
    leader.core.drainInPlace();
    await world.until(() => !groups.some((group) => leader.leads(group)), 'nothing left');
    const left = leader.front.leave(LONG_MS);
    expect(leader.core.undrain()).toBe(false);
    await world.answer(left);
    await world.answer(leader.front.drain());
    expect(world.failures).toEqual([]);
  });
});

it.each([1, 2, 3, 4, 5])(
  'nodes that drain and return to service in any order refuse no write, seed %i',
  async (seed) => {
    const world = await ReplicaWorld.started(3, { seed });
    const { group } = await world.create();
    await world.leader(group);
    const writes: ReturnType<typeof watch>[] = [];
    for (let at = 0; at < 60; at += 1) {
      const node = world.at(toNodeId(1 + world.draw(3)));
      const act = world.draw(4);
      if (act === 0) node.core.drainInPlace();
      else if (act === 1) node.core.undrain();
      else writes.push(watch(node.transact(group, `text ${at}`)));
      await world.pass(world.draw(400));
    }
    for (const node of world.up) node.core.undrain();
    await world.until(() => writes.every(({ end }) => end === 'answered'), 'the answers to all writes');
    const drained = await world.leader(group);
    drained.core.drainInPlace();
    await world.until(() => world.leaderOf(group) !== undefined && !drained.leads(group), 'another leader');
    expect(world.failures).toEqual([]);
  },
);

it('a node that was drained and stayed gets replicas of new databases, and leaderships, again', async () => {
  const world = await joinedWorld(4);
  const node = world.at(toNodeId(2));
  const create = async (name: string) => (await world.create(name)).replicas.map(nodeOf);
  const names = Array.from({ length: 8 }, (_, at) => `before-${at}`);
  for (const name of names) await create(name);
  const ledByNode = (): number => node.front.catalog.list().filter(({ group }) => node.leads(group)).length;
  await world.until(() => ledByNode() > 0, 'some leaderships');
  node.core.drainInPlace();
  expect(await create('meanwhile')).not.toContain(node.node);
  await world.until(() => ledByNode() === 0, 'no leaderships');
  node.core.undrain();
  await world.pass(LIMITS.leavingMs + 1_000);
  await world.until(() => ledByNode() > 0, 'some leaderships again', 60_000);
  expect(await create('afterwards')).toContain(node.node);

  // It plans placements again as leader of the catalog, and observes its own disk again.
  for (const other of world.up) if (other !== node) other.core.drainInPlace();
  await world.until(() => node.leads(CATALOG_GROUP), 'the catalog');
  for (const other of world.up) other.core.undrain();
  await world.pass(LIMITS.leavingMs + 1_000);
  expect(await world.answer(node.core.admin.order({ kind: 'decommission', node: toNodeId(4) }))).toMatchObject({
    kind: 'done',
  });
  const stateOf4 = (): string | undefined => node.front.catalog.nodes().find((each) => each.node === 4)?.state;
  await world.until(() => stateOf4() === 'removed', 'no more of node 4', 120_000);
  node.core.reportDisk('refusing-writes');
  await world.until(() => ledByNode() === 0, 'no leaderships on a full disk');
  await world.until(() => world.failures.length > 0, 'the end of node 4');
  expect(world.failures.map(({ message }) => message.slice(0, 19))).toEqual(['Node 4 was removed ']);
});

it('a node that is leaving gets no leadership of a new database, for which another node campaigns at once', async () => {
  const world = await joinedWorld(3);
  // Node 2 is the preferred leader of the first database.
  const leaving = world.at(toNodeId(2));
  await world.answer(leaving.front.leave(LONG_MS));
  const binding = await world.create();
  await world.until(() => world.leaderOf(binding.group) !== undefined, 'a leader', 400);
  expect(world.leaderOf(binding.group)?.node).not.toBe(leaving.node);
  expect(binding.replicas.map(nodeOf).toSorted((one, other) => one - other)).toEqual([1, 2, 3]);
  expect(world.failures).toEqual([]);
});

it('a node that is leaving gets no replica that another node can have, until it returns', async () => {
  const world = await joinedWorld(4);
  const leaving = world.at(toNodeId(2));
  await world.answer(leaving.front.leave(LONG_MS));
  const create = async (name: string) =>
    (await world.create(name)).replicas.map(nodeOf).toSorted((one, other) => one - other);
  expect(await create('one')).toEqual([1, 3, 4]);
  await world.answer(leaving.front.drain());
  await leaving.crash();
  await leaving.start();
  await world.pass(LIMITS.leavingMs + 1_000);
  expect(await create('two')).toContain(leaving.node);
  expect(world.failures).toEqual([]);
});
