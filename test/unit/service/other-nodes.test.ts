/**
 * Goal: a node answers for databases that it does not know yet, and for those on other nodes. Method: three nodes in a
 * simulated network, one of which does not receive the entries of the catalog.
 */
import { expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type NodeId, replicaOf, toNodeId, toRevision } from '#base';
import { clusterOf } from '../../support/cluster/core-parts.ts';
import { ReplicaWorld } from '../../support/cluster/replica-world.ts';
import { serviceOf } from '../../support/cluster/world-service.ts';
import { ManualTimers, transactRequest } from '../../support/service-world.ts';

const ALL = [1, 2, 3].map(toNodeId);
const [FIRST, THIRD] = [toNodeId(1), toNodeId(3)];
const { signal } = new AbortController();

function started(holders: readonly NodeId[] = [FIRST]): Promise<ReplicaWorld> {
  const placement = { replicas: () => holders.map((node) => replicaOf(node)) };
  return ReplicaWorld.started(3, {
    cluster: (nodes, node) => ({ ...clusterOf(nodes, node), placement }),
  });
}

const reasonOf = (failure: unknown): string | undefined =>
  failure instanceof DatabaseError ? failure.details.reason : String(failure);

/** Returns a node other than the first, whose catalog lags until the network delivers its entries. */
function leaveBehind(world: ReplicaWorld, leader: NodeId): NodeId {
  const behind = world.nodes.find((node) => node !== leader && node !== FIRST) ?? THIRD;
  world.network.isHeld = (_from, to, { group, message }) =>
    to === behind && group === CATALOG_GROUP && (message.kind === 'append' || message.kind === 'commit');
  return behind;
}

it('a node among others (V9, V10) asks the leader of the catalog about a name that it does not know yet', async () => {
  const world = await started();
  const leader = await world.leader(CATALOG_GROUP);
  const behind = leaveBehind(world, leader.node);
  const { databaseId } = await world.answer(serviceOf(world, leader.node).createDatabase({ databaseName: 'shop' }));
  const asked = serviceOf(world, behind).databaseAt({ databaseName: 'shop', at: 'latest', signal });
  const told = asked.catch(reasonOf);
  await world.pass(100);
  expect(world.at(behind).front.catalog.lookup('shop')).toBeUndefined();
  world.network.isHeld = () => false;
  // The answer is that the database is on other nodes, not that it does not exist.
  expect(await world.answer(told)).toBe('NotReplica');
  expect(world.at(behind).front.catalog.lookup('shop')?.databaseId).toBe(databaseId);
});

it('a node among others (V9, V10) sends a transaction to the present database of the name, even when it knows only an earlier one', async () => {
  const world = await started(ALL);
  const leader = await world.leader(CATALOG_GROUP);
  const service = serviceOf(world, leader.node);
  await world.answer(service.createDatabase({ databaseName: 'shop' }));
  await world.pass(1000);
  const behind = leaveBehind(world, leader.node);
  await world.answer(service.deleteDatabase({ databaseName: 'shop' }));
  const { databaseId } = await world.answer(service.createDatabase({ databaseName: 'shop' }));
  expect(world.at(behind).front.catalog.lookup('shop')?.databaseId).not.toBe(databaseId);
  const told = serviceOf(world, behind).transact(transactRequest('shop', { events: [{ id: 'a' }] }));
  await world.pass(500);
  world.network.isHeld = () => false;
  expect(await world.answer(told)).toMatchObject({ kind: 'recorded', databaseId, revision: 1 });
});

it.each([
  ['a name that it does not know yet', false],
  ['an instance that it does not know yet', true],
])(
  'a node among others (V9, V10) deletes nothing below the requested minimum revision, by %s',
  async (_what, isKnown) => {
    const world = await started(ALL);
    const leader = await world.leader(CATALOG_GROUP);
    const service = serviceOf(world, leader.node);
    if (isKnown) await world.answer(service.createDatabase({ databaseName: 'shop' }));
    await world.pass(1000);
    const behind = leaveBehind(world, leader.node);
    if (isKnown) await world.answer(service.deleteDatabase({ databaseName: 'shop' }));
    const { databaseId } = await world.answer(service.createDatabase({ databaseName: 'shop' }));
    const floor = { minRevision: toRevision(99), signal };
    const request = { databaseName: 'shop', floor, ...(isKnown ? { databaseId } : {}) };
    const timers = new ManualTimers();
    const told = serviceOf(world, behind, timers).deleteDatabase(request).catch(reasonOf);
    await world.pass(500);
    world.network.isHeld = () => false;
    await world.pass(500);
    timers.pass(60_000);
    expect(await world.answer(told)).toBe('RevisionNotFound');
    expect(leader.front.catalog.lookup('shop')?.databaseId).toBe(databaseId);
  },
);
