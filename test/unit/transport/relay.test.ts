// Goal: a relay asks the right node with a replica, in the right order, and as often as it may (TM5, TM6). Method:
// scripted answers of nodes.
import { describe, expect, it } from 'vitest';
import { DatabaseError, type GroupId, type Revision, toDatabaseId, toGroupId, toNodeId, toRevision } from '#base';
import { createMetrics, silentLogger } from '#observability';
import type { Elsewhere, Holder, Service } from '#service';
import { type Asked, type Asking, type Attempt, isUntried, Relay } from '../../../src/transport/relay.ts';

const DATABASE_ID = toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000');
const SHOP: Elsewhere = { group: toGroupId(3), databaseId: DATABASE_ID, holders: [holder(1), holder(2), holder(3)] };
const READ: Asked = { protocol: 'grpc', isWrite: false, isRepeatable: () => false };
const WRITE: Asked = { protocol: 'grpc', isWrite: true, isRepeatable: () => false };
const WRITE_WITH_ID: Asked = { ...WRITE, isRepeatable: () => true };
const SUSPECT_MS = 15_000;

function holder(node: number, isNear: boolean = false): Holder {
  return { node: toNodeId(node), name: `node-${node}`, grpc: '', http: '', isNear };
}

type Kind = Exclude<Attempt['kind'], 'answered'>;

class World {
  nowMs = 0;
  readonly failing = new Map<number, Kind>();
  readonly headers = new Map<string, string>([['x-database-id', DATABASE_ID]]);
  readonly asked: string[] = [];
  readonly afterLost: string[] = [];
  readonly metrics = createMetrics({ runtime: false });
  readonly warned: unknown[] = [];
  readonly relay: Relay = new Relay({
    service: this.#service(),
    name: 'self',
    metrics: this.metrics,
    logger: { ...silentLogger, warn: (_event, fields) => this.warned.push(fields) },
    nowMs: () => this.nowMs,
  });

  /** Returns the asked nodes, with the revision that they must have. */
  async ask(asked: Asked, where: Elsewhere = SHOP): Promise<readonly string[]> {
    this.asked.length = 0;
    this.afterLost.length = 0;
    await this.relay.relay(where, asked, (asking) => Promise.resolve(this.#answer(asking)));
    return this.asked;
  }

  #service(): Service {
    const shown = new Map<GroupId, Revision>();
    const service: Partial<Service> = {
      elsewhere: (failure) => (failure instanceof DatabaseError ? SHOP : undefined),
      shown: (group) => shown.get(group) ?? toRevision(0),
      show: (group, revision) => void shown.set(group, toRevision(Math.max(revision, shown.get(group) ?? 0))),
    };
    return service as Service;
  }

  #answer({ holder: { node }, shown, isAfterLost }: Asking): Attempt {
    if (isAfterLost) this.afterLost.push(`${node}`);
    this.asked.push(shown === undefined ? `${node}` : `${node} from ${shown.revision}`);
    const kind = this.failing.get(node);
    return kind === undefined ? { kind: 'answered', header: (name) => this.headers.get(name) } : { kind };
  }
}

describe('the node that is asked', () => {
  it('varies by database, and is the same for all reads of one', async () => {
    const world = new World();
    const first = await Promise.all(
      [3, 4, 5].map(async (group) => (await new World().ask(READ, { ...SHOP, group: toGroupId(group) }))[0]),
    );
    expect(first).toEqual(['1', '2', '3']);
    expect([...(await world.ask(READ))]).toEqual(['1']);
    expect([...(await world.ask(READ))]).toEqual(['1']);
  });

  it('is the nearest one', async () => {
    expect(await new World().ask(READ, { ...SHOP, holders: [holder(1), holder(2), holder(3, true)] })).toEqual(['3']);
  });

  it('is the leader for writes, once a reply has named it, but not for reads', async () => {
    const world = new World();
    await world.ask(READ);
    world.headers.set('x-leader-node', 'node-2');
    expect([...(await world.ask(WRITE))]).toEqual(['1']);
    expect([...(await world.ask(WRITE))]).toEqual(['2']);
    world.headers.clear();
    expect([...(await world.ask(READ))]).toEqual(['1']);
  });

  it('is the next one when one cannot be reached, which is then asked last for a while', async () => {
    const world = new World();
    world.failing.set(1, 'unreached');
    expect([...(await world.ask(WRITE))]).toEqual(['1', '2']);
    world.failing.clear();
    expect([...(await world.ask(READ, { ...SHOP, group: toGroupId(6) }))]).toEqual(['2']);
    world.nowMs += SUSPECT_MS;
    expect([...(await world.ask(READ, { ...SHOP, group: toGroupId(9) }))]).toEqual(['1']);
    expect(world.warned).toEqual([{ nodeId: 1, name: 'node-1' }]);
  });

  it('must have the revision of earlier answers, by another node or by the same before a restart', async () => {
    const world = new World();
    world.headers.set('x-revision', '7');
    expect([...(await world.ask(READ))]).toEqual(['1']);
    world.failing.set(1, 'lost');
    world.headers.set('x-revision', '5');
    expect([...(await world.ask(READ))]).toEqual(['1 from 7', '2 from 7']);
    expect([...(await world.ask(READ))]).toEqual(['2 from 7']);
    world.headers.set('x-revision', '8');
    await world.ask(READ);
    expect([...(await world.ask(READ))]).toEqual(['2 from 8']);
    expect([...(await world.ask(WRITE))]).toEqual(['2']);
  });

  it('need not have the revision of another database of the name', async () => {
    const world = new World();
    world.headers.set('x-revision', '7').set('x-database-id', '0193a1b2-c3d4-7e5f-8a9b-1fffffffffff');
    await world.ask(READ);
    expect([...(await world.ask(READ))]).toEqual(['1']);
    world.headers.set('x-database-id', DATABASE_ID);
    await world.ask(READ);
    expect([...(await world.ask(READ))]).toEqual(['1 from 7']);
  });
});

describe('repeated requests (TM6)', () => {
  const told = async (world: World, asked: Asked): Promise<unknown> =>
    world.ask(asked).then(
      () => 'answered',
      (failure: unknown) => (failure instanceof DatabaseError ? failure.details.reason : failure),
    );

  it.each<readonly [string, Asked, Kind, readonly string[]]>([
    ['a read whose answer is lost', READ, 'lost', ['answered', '1', '2']],
    ['a write that was not reached', WRITE, 'unreached', ['answered', '1', '2']],
    ['a write that was not tried', WRITE, 'untried', ['answered', '1', '2']],
    ['a write whose answer is lost', WRITE, 'lost', ['OutcomeUnknown', '1']],
    ['a write with an id whose answer is lost', WRITE_WITH_ID, 'lost', ['answered', '1', '2']],
    ['an answer that broke', READ, 'broken', ['answered', '1']],
    ['a client that has left', READ, 'abandoned', ['answered', '1']],
  ])('%s', async (_what, asked, kind, ends) => {
    const world = new World();
    world.failing.set(1, kind);
    const outcome = await told(world, asked);
    expect([outcome, ...world.asked]).toEqual(ends);
  });

  it.each<readonly [string, Asked, readonly Kind[], string]>([
    ['no node is reached', WRITE, ['unreached', 'unreached', 'untried'], 'NoHolderReached'],
    ['all answers to a read are lost', READ, ['lost', 'lost', 'lost'], 'NoHolderReached'],
    ['a write may have been committed', WRITE_WITH_ID, ['lost', 'unreached', 'unreached'], 'OutcomeUnknown'],
    [
      'a write may have been committed, and the others refuse it (TM8)',
      WRITE_WITH_ID,
      ['lost', 'untried', 'untried'],
      'OutcomeUnknown',
    ],
  ])('end with an error when %s', async (_what, asked, kinds, reason) => {
    const world = new World();
    for (const [place, kind] of kinds.entries()) world.failing.set(place + 1, kind);
    expect(await told(world, asked)).toBe(reason);
    const { body } = await world.metrics.render();
    const result = reason === 'OutcomeUnknown' ? 'lost' : 'unreached';
    expect(body).toContain(`cairn_relayed_requests_total{protocol="grpc",result="${result}"} 1`);
  });

  it.each<readonly [string, Asked, readonly Kind[], readonly string[]]>([
    ['all nodes after the lost attempt of a write', WRITE_WITH_ID, ['lost', 'untried'], ['2', '3']],
    ['no node after one that was not reached or has not tried', WRITE_WITH_ID, ['unreached', 'untried'], []],
    ['no node in a read', READ, ['lost', 'lost'], []],
  ])('tell %s that a refusal is not the answer (TM8)', async (_what, asked, kinds, behindLost) => {
    const world = new World();
    for (const [place, kind] of kinds.entries()) world.failing.set(place + 1, kind);
    expect(await world.ask(asked)).toEqual(['1', '2', '3']);
    expect(world.afterLost).toEqual(behindLost);
  });

  it.each([
    ['one with an id', WRITE_WITH_ID, 'Repeat it with the same transaction_id'],
    ['one without', WRITE, 'It had no transaction_id'],
  ])('explain how to find the outcome of a write: %s', async (_what, asked, remedy) => {
    const world = new World();
    for (const node of [1, 2, 3]) world.failing.set(node, 'lost');
    await expect(world.ask(asked)).rejects.toThrow(remedy);
  });
});

it('treats only certain reasons as not tried', () => {
  expect(
    ['NotReplica', 'Draining', 'CatalogNotConfirmed', 'NoLeader', 'OutcomeUnknown', undefined].filter(isUntried),
  ).toEqual(['NotReplica', 'Draining', 'CatalogNotConfirmed']);
});
