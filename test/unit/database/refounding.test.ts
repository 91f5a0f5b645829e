// Goal: the catalog of another cluster names one node, and of each database that goes on another instance in a group
// that was never used; all that it had is in its rows (D21, D10). Method: a catalog with nodes and databases in two
// blocks of bindings, begun anew, flushed, and opened again.
import { describe, expect, it } from 'vitest';
import {
  CATALOG_GROUP,
  type GroupId,
  LEVELS,
  replicaOf,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toNodeId,
  toRevision,
  toTerm,
} from '#base';
import { type CatalogEntry, CatalogMachine, encodeCatalogEntry, type Refounding } from '#database';
import { type KvStore, memoryKv } from '#kv';
import { sourceOf } from '../../support/database-host.ts';

const COUNT = 70;
const MEMBERSHIP = Uint8Array.of(7);
const HASH = new Uint8Array(32).fill(7);
const NODE = toNodeId(3);
const NEW_STORE = storeOf(9);

function storeOf(node: number): string {
  return `0199a5c8-3c1e-7a2b-9f01-${String(node).padStart(12, '0')}`;
}

function idOf(number: number) {
  return toDatabaseId(`0198c0de-0000-7000-8000-${String(number).padStart(12, '0')}`);
}

function open(kv: KvStore): CatalogMachine {
  return CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), Uint8Array.of(1));
}

async function flush(kv: KvStore, catalog: CatalogMachine): Promise<CatalogMachine> {
  const batch = kv.batch();
  catalog.flushInto(batch);
  await kv.write(batch);
  return open(kv);
}

/** Three nodes, of which one leaves, and so many databases that their bindings stand in two rows. */
async function catalogOfThree(kv: KvStore): Promise<CatalogMachine> {
  const catalog = open(kv);
  let index = 0;
  const apply = (entry: CatalogEntry): void => {
    index += 1;
    catalog.apply({ index: toLogIndex(index), term: toTerm(2), payload: encodeCatalogEntry(entry) });
  };
  for (const node of [1, 2, 3]) {
    const place = {
      name: `node-${node}`,
      zone: '',
      peer: { host: 'a', port: node },
      grpc: '',
      http: '',
      levels: LEVELS,
    };
    apply({ kind: 'register', registration: { ...place, storeId: storeOf(node) } });
  }
  apply({ kind: 'mark', node: NODE, state: 'leaving' });
  const replicas = [1, 2, 3].map((node) => replicaOf(toNodeId(node)));
  for (let at = 1; at <= COUNT; at++) {
    apply({ kind: 'create', name: `database-${at}`, databaseId: idOf(at), createdAtMs: at, replicas });
  }
  return flush(kv, catalog);
}

function orderFor(groups: readonly number[]): Refounding {
  const successors = new Map<
    GroupId,
    {
      databaseId: ReturnType<typeof idOf>;
      origin: GroupId;
      revision: ReturnType<typeof toRevision>;
      chainHash: Uint8Array;
    }
  >();
  for (const group of groups) {
    successors.set(toGroupId(group), {
      databaseId: idOf(1_000 + group),
      origin: toGroupId(group),
      revision: toRevision(group),
      chainHash: HASH,
    });
  }
  return { node: NODE, storeId: NEW_STORE, membership: MEMBERSHIP, successors };
}

describe('a catalog that begins another cluster', () => {
  it('has what goes on in new groups, nothing else, and one node', async () => {
    const kv = memoryKv();
    const before = await catalogOfThree(kv);
    const { applied } = before;
    const groups = [2, 64, 70];
    const bindings = before.refound(orderFor(groups));
    const own = [replicaOf(NODE)];
    expect(bindings).toEqual(
      groups.map((group, at) => ({
        name: `database-${group}`,
        databaseId: idOf(1_000 + group),
        group: COUNT + 1 + at,
        createdAtMs: group,
        replicas: own,
        founders: own,
        leaving: [],
        placement: 0,
        isSettled: true,
        recovery: { databaseId: idOf(group), group, rootId: idOf(group), revision: group, chainHash: HASH },
      })),
    );
    const after = await flush(kv, before);
    expect(after.list()).toEqual(bindings);
    expect(after.lookup('database-1')).toBeUndefined();
    expect(after.nodes().map(({ node, state, storeId }) => [node, state, storeId])).toEqual([
      [1, 'removed', storeOf(1)],
      [2, 'removed', storeOf(2)],
      [3, 'active', NEW_STORE],
    ]);
    const { index, term, revision } = applied;
    const place = { index, term, logStart: index, revision: revision + 1, nextGroup: COUNT + 4 };
    expect(after.applied).toMatchObject({ ...place, group: { index, membership: MEMBERSHIP } });
    expect(after.applied.chainHash).not.toEqual(applied.chainHash);
    expect(after.level).toBe(before.level);
  });

  it('gives numbers of nodes and groups on, and never one twice (D10, D14)', async () => {
    const kv = memoryKv();
    const catalog = await catalogOfThree(kv);
    catalog.refound(orderFor([1]));
    const after = await flush(kv, catalog);
    const place = { name: 'fresh', zone: '', peer: { host: 'a', port: 1 }, grpc: '', http: '', levels: LEVELS };
    const index = toLogIndex(after.applied.index + 1);
    const payload = encodeCatalogEntry({ kind: 'register', registration: { ...place, storeId: storeOf(4) } });
    expect(after.apply({ index, term: toTerm(3), payload })).toMatchObject({ kind: 'registered', node: { node: 4 } });
    const creation = {
      kind: 'create',
      name: 'database-2',
      databaseId: idOf(7_000),
      createdAtMs: 1,
      replicas: [replicaOf(NODE)],
    } as const;
    const next = { index: toLogIndex(index + 1), term: toTerm(3), payload: encodeCatalogEntry(creation) };
    expect(after.apply(next)).toMatchObject({ kind: 'created', binding: { group: COUNT + 2 } });
  });

  it('names the first instance as the root of one that goes on once more (D19)', async () => {
    const kv = memoryKv();
    const catalog = await catalogOfThree(kv);
    catalog.refound(orderFor([5]));
    const [again] = catalog.refound({
      ...orderFor([]),
      successors: new Map([
        [
          toGroupId(COUNT + 1),
          { databaseId: idOf(9_000), origin: toGroupId(5), revision: toRevision(6), chainHash: HASH },
        ],
      ]),
    });
    expect(again?.recovery).toMatchObject({ databaseId: idOf(1_005), group: 5, rootId: idOf(5), revision: 6 });
  });
});
