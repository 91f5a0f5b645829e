/** What a node answers of databases that it does not know yet, and of those that other nodes hold. */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, replicaOf, toNodeId, toRevision } from '#base';
import { clusterOf, nativeSha256 } from '#cluster';
import { type EventQuery, term } from '#model';
import { createMetrics } from '#observability';
import { createService, type Service } from '#service';
import { databaseKit } from '../../support/cluster/machine-kit.ts';
import { ReplicaWorld } from '../../support/cluster/replica-world.ts';
import { ManualTimers } from '../../support/service-world.ts';

const [FIRST, THIRD] = [toNodeId(1), toNodeId(3)];
const { signal } = new AbortController();
const query: EventQuery = {
  selector: term('by-stream', 'orders'),
  revisions: { start: undefined, end: undefined },
  direction: 'forward',
  limit: undefined,
};

/** Three nodes; databases have one copy, on the first. */
function started(): Promise<ReplicaWorld> {
  const placement = { replicas: () => [replicaOf(FIRST)] };
  return ReplicaWorld.started(3, {
    kit: databaseKit,
    cluster: (nodes, node) => ({ ...clusterOf(nodes, node), placement }),
  });
}

function serviceOf(world: ReplicaWorld, node: typeof FIRST): Service {
  return createService({
    node: world.at(node).front,
    clock: { nowMs: () => world.nowMs },
    random: { bytes: (count) => new Uint8Array(count) },
    digests: { crc32, sha256: nativeSha256 },
    metrics: createMetrics({ runtime: false }),
    release: 'test',
    limits: {},
    timers: new ManualTimers(),
  });
}

const reasonOf = (failure: unknown): string | undefined =>
  failure instanceof DatabaseError ? failure.details.reason : String(failure);

describe('a node among others (V9, V10)', () => {
  it('says of a name that it does not know yet what the leader of the catalog knows', async () => {
    const world = await started();
    const leader = await world.leader(CATALOG_GROUP);
    const behind = world.nodes.find((node) => node !== leader.node && node !== FIRST) ?? THIRD;
    world.network.isHeld = (_from, to, { group, message }) =>
      to === behind && group === CATALOG_GROUP && (message.kind === 'append' || message.kind === 'commit');
    const { databaseId } = await world.answer(serviceOf(world, leader.node).createDatabase({ databaseName: 'shop' }));
    const asked = serviceOf(world, behind).databaseAt({ databaseName: 'shop', at: 'latest', signal });
    const told = asked.catch(reasonOf);
    await world.pass(100);
    expect(world.at(behind).front.catalog.lookup('shop')).toBeUndefined();
    world.network.isHeld = () => false;
    // It holds no copy, and says so; it does not say that there is none.
    expect(await world.answer(told)).toBe('NotReplica');
    expect(world.at(behind).front.catalog.lookup('shop')?.databaseId).toBe(databaseId);
  });

  it('answers no read of a database of which it holds no copy', async () => {
    const world = await started();
    const leader = await world.leader(CATALOG_GROUP);
    await world.answer(serviceOf(world, leader.node).createDatabase({ databaseName: 'shop' }));
    await world.pass(1000);
    const service = serviceOf(world, THIRD);
    const database = { databaseName: 'shop', signal };
    const revision = toRevision(0);
    const asked = [
      service.subscribe({ ...database, selector: query.selector, heartbeatMs: 1000 }),
      service.queryEvents({ ...database, at: 'cached', query }),
      service.queryEvents({ ...database, at: revision, query }),
      service.awaitDatabase({ ...database, revision }),
    ];
    const told = Promise.all(asked.map((each) => (each as Promise<unknown>).catch(reasonOf)));
    expect(await world.answer(told)).toEqual(asked.map(() => 'NotReplica'));
    const holder = serviceOf(world, FIRST).queryEvents({ ...database, at: 'cached', query });
    expect(await world.answer(holder)).toMatchObject({ revision: 0 });
  });
});
