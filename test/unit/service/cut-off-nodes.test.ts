// Goal: a node that cannot confirm the catalog answers no request for a database (V11). Method: three nodes in a
// simulated network that isolates one of them.
import { beforeEach, describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type NodeId, toRevision } from '#base';
import { LIMITS } from '#cluster';
import { type EventQuery, term } from '#model';
import type { Service } from '#service';
import { ReplicaWorld } from '../../support/cluster/replica-world.ts';
import { serviceOf } from '../../support/cluster/world-service.ts';
import { ManualTimers, transactRequest } from '../../support/service-world.ts';

const { signal } = new AbortController();
const selector = term('by-stream', 'orders');
const query: EventQuery = {
  selector,
  revisions: { start: undefined, end: undefined },
  direction: 'forward',
  limit: undefined,
};
const shop = { databaseName: 'shop', signal };

const reasonOf = (failure: unknown): unknown =>
  failure instanceof DatabaseError ? (failure.details.reason ?? failure.code) : failure;

describe('a node that is cut off (V11)', () => {
  let world: ReplicaWorld;
  let timers: ManualTimers;
  let away: NodeId;
  let there: Service;
  let here: Service;

  const cutOff = (): void => {
    for (const other of world.nodes) world.network.cut(away, other);
  };
  const told = (asked: Promise<unknown>): Promise<unknown> => world.answer(asked.then(() => 'answered', reasonOf));

  beforeEach(async () => {
    world = await ReplicaWorld.started(3);
    timers = new ManualTimers();
    const leader = await world.leader(CATALOG_GROUP);
    away = world.nodes.find((node) => node !== leader.node) ?? leader.node;
    there = serviceOf(world, leader.node, timers);
    here = serviceOf(world, away, timers);
    await world.answer(there.createDatabase({ databaseName: 'shop' }));
    for (const id of ['a', 'b']) await world.answer(there.transact(transactRequest('shop', { events: [{ id }] })));
    await world.pass(1000);
  });

  it('answers from its replica while its lease holds, rejects requests afterwards, and answers again after it has reconnected', async () => {
    expect(await told(here.databaseAt({ ...shop, at: 'cached' }))).toBe('answered');
    cutOff();
    await world.pass(LIMITS.leaseMs / 2);
    expect(await told(here.databaseAt({ ...shop, at: 'cached' }))).toBe('answered');
    expect(here.health()).toMatchObject({ readable: true });
    await world.pass(LIMITS.leaseMs);
    const requests: readonly (() => Promise<unknown>)[] = [
      () => here.databaseAt({ ...shop, at: 'cached' }),
      () => here.databaseAt({ ...shop, at: toRevision(1) }),
      () => here.queryEvents({ ...shop, at: toRevision(1), query }),
      () => here.listStreams({ ...shop, at: 'cached', limit: 10 }),
      () => here.subscribe({ ...shop, selector, heartbeatMs: 1000 }),
      () => here.awaitDatabase({ ...shop, revision: toRevision(1) }),
      () => here.transact(transactRequest('shop', { events: [{ id: 'c' }] })),
    ];
    for (const request of requests) expect(await told(request())).toBe('CatalogNotConfirmed');
    expect(here.health()).toMatchObject({ status: 'degraded', readable: false, writable: false });
    world.network.heal();
    await world.pass(5000);
    for (const request of requests) expect(await told(request())).toBe('answered');
    expect(here.health()).toMatchObject({ status: 'ok', readable: true });
  });
});
