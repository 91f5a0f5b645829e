// Goal: the level of a cluster only rises, to one that every node knows (D20), and any release can read it. Method: a
// table of clusters; restarts, snapshots and rows that are broken.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type LevelRange, toLogIndex, toNodeId, toTerm } from '#base';
import {
  type CatalogEntry,
  CatalogMachine,
  type CatalogOutcome,
  encodeCatalogEntry,
  RowKeys,
  readLevel,
} from '#database';
import { memoryKv } from '#kv';
import { sourceOf } from '../../support/database-host.ts';

const MEMBERS = Uint8Array.of(1);
const KEY = new RowKeys(CATALOG_GROUP).level();

function emptyCatalog(kv = memoryKv()): CatalogMachine {
  return CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), MEMBERS);
}

function apply(catalog: CatalogMachine, entry: CatalogEntry): CatalogOutcome {
  const index = toLogIndex(catalog.applied.index + 1);
  return catalog.apply({ index, term: toTerm(1), payload: encodeCatalogEntry(entry) });
}

function register(catalog: CatalogMachine, node: number, [min, max]: readonly [number, number]): CatalogOutcome {
  const storeId = `0199a5c8-3c1e-7a2b-9f01-${String(node).padStart(12, '0')}`;
  const levels: LevelRange = { min, max };
  const where = { peer: { host: 'a', port: node }, grpc: '', http: '' };
  return apply(catalog, { kind: 'register', registration: { storeId, name: '', zone: '', ...where, levels } });
}

const raise = (catalog: CatalogMachine, level: number): CatalogOutcome['kind'] =>
  apply(catalog, { kind: 'raise', level }).kind;

describe('the level of a cluster (D20)', () => {
  it.each<[string, readonly (readonly [number, number])[], number, number]>([
    ['that has no nodes yet', [], 2, 2],
    [
      'whose nodes know it',
      [
        [1, 2],
        [1, 2],
      ],
      2,
      2,
    ],
    [
      'of which a node does not know it',
      [
        [1, 2],
        [1, 1],
      ],
      2,
      1,
    ],
    [
      'by more than one',
      [
        [1, 3],
        [1, 4],
      ],
      3,
      3,
    ],
    ['to where it is', [[1, 2]], 1, 1],
  ])('is raised, %s', (_name, nodes, level, after) => {
    const catalog = emptyCatalog();
    nodes.forEach((levels, at) => register(catalog, at + 1, levels));
    const { revision } = catalog.applied;
    expect(raise(catalog, level)).toBe(after === level && level > 1 ? 'raised' : 'unmoved');
    expect(catalog.level).toBe(after);
    expect(catalog.applied.revision).toBe(revision + (after > 1 ? 1 : 0));
  });

  it('never goes back', () => {
    const catalog = emptyCatalog();
    register(catalog, 1, [1, 3]);
    expect([raise(catalog, 3), raise(catalog, 2), raise(catalog, 1)]).toEqual(['raised', 'unmoved', 'unmoved']);
    expect(catalog.level).toBe(3);
  });

  it('does not wait for a node that was removed, but for one that leaves', () => {
    const catalog = emptyCatalog();
    register(catalog, 1, [1, 2]);
    register(catalog, 2, [1, 1]);
    apply(catalog, { kind: 'mark', node: toNodeId(2), state: 'leaving' });
    expect(raise(catalog, 2)).toBe('unmoved');
    apply(catalog, { kind: 'mark', node: toNodeId(2), state: 'removed' });
    expect(raise(catalog, 2)).toBe('raised');
  });

  it('keeps whoever does not know it from being registered, and a node from becoming one who does not', () => {
    const catalog = emptyCatalog();
    register(catalog, 1, [1, 2]);
    raise(catalog, 2);
    const { revision } = catalog.applied;
    expect(register(catalog, 2, [1, 1])).toEqual({ kind: 'unsupported' });
    expect(register(catalog, 2, [3, 4])).toEqual({ kind: 'unsupported' });
    expect(register(catalog, 1, [1, 1])).toEqual({ kind: 'unsupported' });
    expect(catalog.nodes().map(({ levels }) => levels)).toEqual([{ min: 1, max: 2 }]);
    expect(catalog.applied.revision).toBe(revision);
    expect(register(catalog, 2, [2, 3])).toMatchObject({ kind: 'registered', node: { node: 2 } });
  });

  it('is in a row of its own, through restarts, and goes with a snapshot', async () => {
    const kv = memoryKv();
    const catalog = emptyCatalog(kv);
    register(catalog, 1, [1, 9]);
    expect(readLevel(kv, KEY)).toBe(1);
    raise(catalog, 7);
    const batch = kv.batch();
    catalog.flushInto(batch);
    await kv.write(batch);
    expect(readLevel(kv, KEY)).toBe(7);
    expect(emptyCatalog(kv).level).toBe(7);

    const other = memoryKv();
    const behind = emptyCatalog(other);
    const changes = behind.install(emptyCatalog(kv));
    expect(changes[0]).toEqual({ kind: 'raised', level: 7 });
    const rows = other.batch();
    behind.flushInto(rows);
    await other.write(rows);
    expect(readLevel(other, KEY)).toBe(7);
  });

  it('is not guessed where its row is broken', async () => {
    const kv = memoryKv();
    const batch = kv.batch();
    batch.put(KEY, Uint8Array.of(1, 2, 0, 0, 0, 0));
    await kv.write(batch);
    expect(() => readLevel(kv, KEY)).toThrow('its checksum is');
  });
});
