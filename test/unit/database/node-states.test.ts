// Goal: a node leaves step by step, holds nothing when it is removed, and is never a node again (D17). Method: the
// table of the states, entries that come too late, and a restart after each.
import { beforeEach, describe, expect, it } from 'vitest';
import { CATALOG_GROUP, LEVELS, nodeOf, replicaOf, toDatabaseId, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import { type CatalogEntry, CatalogMachine, type CatalogOutcome, encodeCatalogEntry, type NodeState } from '#database';
import { memoryKv } from '#kv';
import { sourceOf } from '../../support/database-host.ts';

const GROUP = toGroupId(1);
const kv = memoryKv();
let catalog: CatalogMachine;
let index = 0;

function apply(entry: CatalogEntry): CatalogOutcome {
  index += 1;
  return catalog.apply({ index: toLogIndex(index), term: toTerm(1), payload: encodeCatalogEntry(entry) });
}

function register(node: number, port = 1): CatalogOutcome {
  const storeId = `0199a5c8-3c1e-7a2b-9f01-${String(node).padStart(12, '0')}`;
  const peer = { host: 'a', port };
  return apply({
    kind: 'register',
    registration: { storeId, name: '', zone: '', peer, grpc: '', http: '', levels: LEVELS },
  });
}

const mark = (node: number, state: NodeState): CatalogOutcome['kind'] =>
  apply({ kind: 'mark', node: toNodeId(node), state }).kind;
const place = (placement: number, nodes: readonly number[]): CatalogOutcome['kind'] =>
  apply({ kind: 'place', group: GROUP, placement, nodes: nodes.map(toNodeId) }).kind;

async function states(): Promise<string> {
  const batch = kv.batch();
  catalog.flushInto(batch);
  await kv.write(batch);
  catalog = CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), Uint8Array.of(1));
  return catalog
    .nodes()
    .map(({ state }) => state)
    .join(' ');
}

beforeEach(() => {
  catalog = CatalogMachine.open(sourceOf(memoryKv(), CATALOG_GROUP), Uint8Array.of(1));
  index = 0;
  for (const node of [1, 2, 3]) register(node);
  const databaseId = toDatabaseId('0198c0de-0000-7000-8000-000000000001');
  const replicas = [1, 2].map((node) => replicaOf(toNodeId(node)));
  apply({ kind: 'create', name: 'shop', databaseId, createdAtMs: 0, replicas });
});

describe('the state of a node (D17)', () => {
  it.each<[NodeState, readonly NodeState[], NodeState | undefined]>([
    ['active', [], undefined],
    ['leaving', [], 'leaving'],
    ['removed', [], undefined],
    ['active', ['leaving'], 'active'],
    ['leaving', ['leaving'], undefined],
    ['removed', ['leaving'], 'removed'],
    ['active', ['leaving', 'removed'], undefined],
    ['leaving', ['leaving', 'removed'], undefined],
    ['removed', ['leaving', 'removed'], undefined],
  ])('becomes %s after %j: %s', async (next, before, after) => {
    for (const state of before) expect(mark(3, state)).toBe('registered');
    const { revision } = catalog.applied;
    expect(mark(3, next)).toBe(after === undefined ? 'unmoved' : 'registered');
    expect(catalog.applied.revision).toBe(revision + (after === undefined ? 0 : 1));
    expect(await states()).toBe(`active active ${after ?? before.at(-1) ?? 'active'}`);
  });

  it('is that of no node that is not there', () => {
    expect(mark(4, 'leaving')).toBe('unmoved');
  });

  it('stays active for one at least', async () => {
    expect([mark(1, 'leaving'), mark(2, 'leaving'), mark(3, 'leaving')]).toEqual([
      'registered',
      'registered',
      'unmoved',
    ]);
    expect(await states()).toBe('leaving leaving active');
  });

  it('is removed only when no database names it, leaving or not', async () => {
    mark(1, 'leaving');
    expect(mark(1, 'removed')).toBe('unmoved');
    expect(place(0, [2, 3])).toBe('moved');
    expect(mark(1, 'removed')).toBe('unmoved');
    expect(apply({ kind: 'placed', group: GROUP, placement: 1 }).kind).toBe('moved');
    expect(mark(1, 'removed')).toBe('registered');
    expect(await states()).toBe('removed active active');
    expect(catalog.list()[0]?.replicas.map(nodeOf)).toEqual([2, 3]);
  });

  it('keeps copies from a node that is not active, but for those that it has', () => {
    mark(3, 'leaving');
    expect(place(0, [1, 3])).toBe('unmoved');
    mark(2, 'leaving');
    // It is leaving the node, and is to stay there for now.
    expect(place(0, [2])).toBe('moved');
    expect(place(1, [1, 2])).toBe('moved');
  });

  it('stays when the node says where it is, and a removed one is not heard', async () => {
    mark(3, 'leaving');
    expect(register(3, 7)).toMatchObject({
      kind: 'registered',
      node: { node: 3, state: 'leaving', peer: { port: 7 } },
    });
    mark(3, 'removed');
    expect(register(3, 8)).toMatchObject({ kind: 'known', node: { node: 3, state: 'removed', peer: { port: 7 } } });
    expect(register(4)).toMatchObject({ node: { node: 4 } });
    expect(await states()).toBe('active active removed active');
  });
});

describe('a placement is settled', () => {
  it('once, by the word for it, also when nobody leaves', async () => {
    expect(catalog.list()[0]?.isSettled).toBe(true);
    expect(place(0, [1, 2, 3])).toBe('moved');
    await states();
    expect(catalog.list()[0]).toMatchObject({ isSettled: false, leaving: [] });
    expect(apply({ kind: 'placed', group: GROUP, placement: 0 }).kind).toBe('unmoved');
    expect(apply({ kind: 'placed', group: GROUP, placement: 1 }).kind).toBe('moved');
    expect(apply({ kind: 'placed', group: GROUP, placement: 1 }).kind).toBe('unmoved');
    await states();
    expect(catalog.list()[0]?.isSettled).toBe(true);
  });
});
