// Goal: a request at a node that is not the leader is answered once with the leader's answer, or as unknown, and can be
// read there (C2, C6, C14). Method: three nodes in memory.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, type NodeId, replicaOf, toDatabaseId, toNodeId } from '#base';
import type { ForwardItem } from '#cluster';
import { databaseMachines } from '../../../../src/cluster/database-machines.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { reasonOf } from '../../../support/cluster/outcomes.ts';
import { ReplicaWorld, type ReplicaWorldOptions, type WorldNode } from '../../../support/cluster/replica-world.ts';

interface Cluster {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly leader: WorldNode;
  /** A node that is not the leader. */
  readonly other: WorldNode;
}

async function started(options: ReplicaWorldOptions = {}): Promise<Cluster> {
  const world = await ReplicaWorld.started(3, options);
  await world.leader(CATALOG_GROUP);
  // The level of the cluster is written first, because the smallest limits have no room for it as well.
  await world.pass(500);
  const { group } = await world.create();
  const leader = await world.leader(group);
  await world.pass(500);
  const other = world.up.find((each) => each !== leader);
  if (other === undefined) throw new Error('There are three nodes');
  return { world, group, leader, other };
}

describe('a transaction at a node that is not the leader', () => {
  it('is reported as an entry of the log, once, before its outcome', async () => {
    const { world, group, other } = await started();
    const told: string[] = [];
    const asked = other.transact(group, 'a', () => told.push('admitted'));
    await world.answer(asked.then(({ kind }) => told.push(kind)));
    expect(told).toEqual(['admitted', 'committed']);
  });

  it('is unknown when no answer arrives in time', async () => {
    const { world, group, leader, other } = await started();
    world.network.cut(leader.node, other.node);
    const beganMs = world.nowMs;
    expect(await world.answer(reasonOf(other.transact(group, 'a')))).toBe('OutcomeUnknown');
    expect(world.nowMs - beganMs).toBeLessThan(6000);
  });

  it('is unknown when the connection to the leader is lost before its answer, and no other leader is found', async () => {
    const { world, group, leader, other } = await started();
    world.network.cutWay(leader.node, other.node);
    const settled = reasonOf(other.transact(group, 'a'));
    await world.pass(100);
    other.core.unreachable(leader.node);
    expect(await world.answer(settled)).toBe('OutcomeUnknown');
  });

  it('is rejected with the error of the leader (C12, C14)', async () => {
    const { world, group, leader, other } = await started({ limits: { uncommittedBytesMax: 64 } });
    for (const each of world.up) if (each !== leader) each.holdDisk(true);
    const asked = Array.from({ length: 20 }, (_, at) => reasonOf(other.transact(group, `text ${at}`)));
    await world.pass(500);
    for (const each of world.up) each.holdDisk(false);
    const reasons = await world.answer(Promise.all(asked));
    expect(new Set(reasons)).toEqual(new Set(['answered', 'UncommittedBytes']));
  });

  it('is rejected when too many requests wait for the leader', async () => {
    const { world, group, leader, other } = await started({ limits: { forwardedBytesMax: 64 } });
    world.network.cut(leader.node, other.node);
    const asked = Array.from({ length: 20 }, (_, at) => reasonOf(other.transact(group, `text ${at}`)));
    const reasons = await world.answer(Promise.all(asked));
    expect(new Set(reasons)).toEqual(new Set(['OutcomeUnknown', 'ForwardedBytes']));
  });

  it('leaves room for other databases when one has many', async () => {
    const { world, group, leader, other } = await started({ limits: { forwardedBytesMax: 4000 } });
    const { binding } = await world.answer(leader.front.createDatabase('books'));
    const books = await world.leader(binding.group);
    const third = world.up.find((each) => each !== leader && each !== books) ?? other;
    for (const each of [leader, books]) world.network.cut(third.node, each.node);
    const asked = Array.from({ length: 40 }, (_, at) => reasonOf(third.transact(group, `text ${at}`)));
    const late = reasonOf(third.transact(binding.group, 'a'));
    expect(new Set(await world.answer(Promise.all(asked)))).toEqual(new Set(['OutcomeUnknown', 'ForwardedBytes']));
    expect(await world.answer(late)).not.toBe('ForwardedBytes');
  });
});

describe('a request while a lane is not connected, as after the start of a node', () => {
  async function follower(): Promise<Pick<Cluster, 'world'> & { node: NodeId; ask: () => Promise<object>[] }> {
    const { world, group, leader } = await started();
    const catalog = await world.leader(CATALOG_GROUP);
    const other = world.up.find((each) => each !== leader && each !== catalog) ?? leader;
    return { world, node: other.node, ask: () => [other.transact(group, 'a'), other.front.createDatabase('books')] };
  }

  it.each([
    ['to the leader', (from: NodeId, _to: NodeId, node: NodeId) => from === node],
    ['from the leader, whose heartbeats arrive', (_from: NodeId, to: NodeId, node: NodeId) => to === node],
  ])('is answered with its outcome when the lane opens: %s', async (_which, isClosed) => {
    const { world, node, ask } = await follower();
    world.network.isClosed = (from, to) => isClosed(from, to, node);
    const asked = Promise.all(ask());
    await world.pass(4000);
    world.network.isClosed = () => false;
    expect(await world.answer(asked)).toMatchObject([{ kind: 'committed', revision: 1 }, { kind: 'created' }]);
    expect(world.failures).toEqual([]);
  });

  it('is rejected as not stored when no lane opens', async () => {
    const { world, node, ask } = await follower();
    world.network.isClosed = (from) => from === node;
    expect(await world.answer(Promise.all(ask().map(reasonOf)))).toEqual(['NoLeader', 'NoLeader']);
  });
});

describe('a transaction whose leader is lost before its outcome (C40)', () => {
  it.each([
    [
      'the answer was on its way',
      'replayed',
      (world: ReplicaWorld, from: WorldNode, to: WorldNode) => world.network.cutWay(from.node, to.node),
    ],
    [
      'the request was on its way',
      'committed',
      (world: ReplicaWorld, from: WorldNode, to: WorldNode) => world.network.cut(from.node, to.node),
    ],
  ])('is committed once by the next leader, and admitted once: %s', async (_where, kind, lose) => {
    const { world, group, leader, other } = await started();
    lose(world, leader, other);
    const told: string[] = [];
    const asked = other.transact(group, 'a', () => told.push('admitted'));
    await world.pass(100);
    await leader.crash();
    expect(await world.answer(asked)).toMatchObject({ kind, revision: 1 });
    expect(told).toEqual(['admitted']);
    expect(await other.history(group)).toEqual(['a']);
    expect(world.failures).toEqual([]);
  });

  it('is committed once when the next leader has other entries at its index', async () => {
    const { world, group, leader, other } = await started();
    world.network.isHeld = (_from, _to, { message }) => message.kind === 'append';
    const told: string[] = [];
    const asked = other.transact(group, 'a', () => told.push('admitted'));
    await world.until(() => told.length === 1, 'an entry of the leader');
    await leader.crash();
    world.network.isHeld = () => false;
    expect(await world.answer(asked)).toMatchObject({ kind: 'committed', revision: 1 });
    expect(told).toEqual(['admitted']);
    expect(await other.history(group)).toEqual(['a']);
  });

  it('is answered with its outcome when its index arrives after it was applied', async () => {
    const { world, group, leader, other } = await started();
    const late: ForwardItem[] = [];
    world.network.intercepts = (to, items) => {
      if (to !== other.node || items.every(({ kind }) => kind !== 'accepted')) return false;
      late.push(...items);
      return true;
    };
    const told: string[] = [];
    const asked = other.transact(group, 'a', () => told.push('admitted'));
    await world.pass(500);
    world.network.intercepts = () => false;
    other.core.forwarded(leader.node, late);
    expect(await world.answer(asked)).toMatchObject({ kind: 'replayed', revision: 1 });
    expect(told).toEqual(['admitted']);
  });

  it('is committed once when its node was the leader and lost the leadership', async () => {
    const { world, group, leader } = await started();
    const others = world.up.filter((each) => each !== leader);
    for (const each of others) world.network.cut(leader.node, each.node);
    const asked = leader.transact(group, 'a');
    await world.until(() => others.some((each) => each.leads(group)), 'another leader');
    world.network.heal();
    expect(await world.answer(asked)).toMatchObject({ kind: 'committed', revision: 1 });
    for (const each of world.up) {
      await world.answer(each.front.latest(group));
      expect(await each.history(group)).toEqual(['a']);
    }
    expect(world.failures).toEqual([]);
  });

  it('is not repeated when it creates a database, because that has no transaction id', async () => {
    const { world } = await started();
    const leader = await world.leader(CATALOG_GROUP);
    const other = world.up.find((each) => each !== leader) ?? leader;
    world.network.cutWay(leader.node, other.node);
    const asked = reasonOf(other.front.createDatabase('books'));
    await world.pass(100);
    await leader.crash();
    expect(await world.answer(asked)).toBe('OutcomeUnknown');
  });
});

it('a write for the leader only is rejected by other nodes, with the leader, and accepted by it', async () => {
  const { world, group, leader, other } = await started();
  const payload = (text: string): Uint8Array => databaseKit.payload(text);
  const asked = other.front.transact(group, payload('a'), { requireLeader: true });
  const refused = { code: 'not_leader', details: { leaderNode: leader.node } };
  await expect(world.answer(asked)).rejects.toMatchObject(refused);
  expect(await world.answer(leader.front.transact(group, payload('b'), { requireLeader: true }))).toMatchObject({
    revision: 1,
  });
  expect(await world.answer(other.transact(group, 'c'))).toMatchObject({ revision: 2 });
});

it('every node names the leader, and the next one after it has stopped', async () => {
  const { world, group, leader, other } = await started();
  for (const { front } of world.up) expect(front.leaderOf(group)?.node).toBe(`node-${leader.node}`);
  await leader.crash();
  const next = await world.leader(group);
  await world.pass(200);
  for (const { front } of world.up) expect(front.leaderOf(group)?.node).toBe(`node-${next.node}`);
  expect(next).not.toBe(leader);
  await next.crash();
  await world.pass(5000);
  const [last = other] = world.up;
  expect(last.front.leaderOf(group)).toBeUndefined();
});

describe('a request that no node of the cluster would forward', () => {
  const STRANGER = toNodeId(77);
  type Asked =
    | { kind: 'create'; name: string; copies: number }
    | { kind: 'propose'; group: GroupId; payload: Uint8Array };

  const isAnswer = ({ kind }: ForwardItem): boolean => kind === 'accepted' || kind === 'refused';

  /** Returns the answer of the leader to a node that forwards this request. The leader accepts nothing of it. */
  async function answerTo(isStranger: boolean, ask: (group: GroupId) => Asked): Promise<readonly ForwardItem[]> {
    const { world, group, other } = await started();
    const asked = ask(group);
    const isOfCatalog = asked.kind === 'create' || asked.group === CATALOG_GROUP;
    const { core } = await world.leader(isOfCatalog ? CATALOG_GROUP : group);
    const asker = world.up.find((each) => each.core !== core) ?? other;
    const told: ForwardItem[] = [];
    world.network.intercepts = (to, items) => {
      if (to === asker.node) told.push(...items.filter(isAnswer));
      return to === asker.node;
    };
    const nothing = (): void => undefined;
    world.network.connect(STRANGER, {
      forwarded: (_from, items) => void told.push(...items.filter(isAnswer)),
      receive: nothing,
      receiveLetter: nothing,
      unreachable: nothing,
      reachable: nothing,
    });
    const before = core.catalog;
    core.forwarded(isStranger ? STRANGER : asker.node, [{ session: 1, id: 1, ...asked }]);
    await world.pass(200);
    expect(world.failures).toEqual([]);
    expect(core.catalog).toEqual(before);
    expect(await asker.history(group)).toEqual([]);
    return told;
  }

  const good = databaseKit.payload('a');
  const deletion = databaseMachines.encode({ kind: 'delete', name: 'shop' });
  const creation = databaseMachines.encode({
    kind: 'create',
    name: 'BAD NAME',
    databaseId: toDatabaseId('0199a5c8-3c1e-7a2b-9f00-0123456789ab'),
    createdAtMs: 1,
    replicas: [replicaOf(STRANGER)],
    copies: 0,
  });
  const create = (name: string) => (): Asked => ({ kind: 'create', name, copies: 0 });
  const toCatalog = (payload: Uint8Array) => (): Asked => ({ kind: 'propose', group: CATALOG_GROUP, payload });
  const toDatabase =
    (payload: Uint8Array) =>
    (group: GroupId): Asked => ({ kind: 'propose', group, payload });

  it.each<[string, boolean, (group: GroupId) => Asked, string]>([
    ['a creation from an unknown node', true, create('books'), 'NodeNotKnown'],
    ['a deletion from an unknown node', true, toCatalog(deletion), 'NodeNotKnown'],
    ['a transaction from an unknown node', true, toDatabase(good), 'NodeNotKnown'],
    ['an invalid name', false, create('BAD NAME/..'), 'MalformedForward'],
    ['any bytes for the catalog', false, toCatalog(Uint8Array.of(9, 9, 9)), 'MalformedForward'],
    ['an entry that creates', false, toCatalog(creation), 'MalformedForward'],
    ['a transaction for the catalog', false, toCatalog(good), 'MalformedForward'],
    ['a delete for a database', false, toDatabase(deletion), 'MalformedForward'],
    ['a transaction that is cut short', false, toDatabase(good.subarray(0, -1)), 'MalformedForward'],
    ['nothing at all', false, toDatabase(new Uint8Array()), 'MalformedForward'],
  ])('is rejected and not proposed: %s', async (_name, isStranger, ask, reason) => {
    const answers = await answerTo(isStranger, ask);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toMatchObject({ kind: 'refused', error: { details: { reason } } });
  });
});
