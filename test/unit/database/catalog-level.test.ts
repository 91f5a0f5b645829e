// Goal: the level of a cluster only rises, to one that every node knows (D20), and any release can read it. Method: a
// table of clusters; restarts, snapshots and broken rows.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, toNodeId } from '#base';
import { type CatalogOutcome, RowKeys, readLevel } from '#database';
import { CatalogHost } from '../../support/catalog-host.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const KEY = new RowKeys(CATALOG_GROUP).level();

function hostOf(...levels: readonly (readonly [min: number, max: number])[]): CatalogHost {
  const host = new CatalogHost();
  levels.forEach((each, at) => register(host, at + 1, each));
  return host;
}

function register(host: CatalogHost, node: number, [min, max]: readonly [number, number]): CatalogOutcome {
  return host.register(node, { levels: { min, max } });
}

const raise = (host: CatalogHost, level: number): string => host.apply({ kind: 'raise', level }).kind;

describe('the level of a cluster (D20)', () => {
  it.each([
    ['that has no nodes yet', hostOf(), 2, 2],
    ['whose nodes know it', hostOf([1, 2], [1, 2]), 2, 2],
    ['with a node that does not know it', hostOf([1, 2], [1, 1]), 2, 1],
    ['that rises by more than one level', hostOf([1, 3], [1, 4]), 3, 3],
    ['that has this level already', hostOf([1, 2]), 1, 1],
  ])('is raised, or not, for a cluster %s', (_name, host, level, after) => {
    const { revision } = host.machine.applied;
    expect(raise(host, level)).toBe(after === level && level > 1 ? 'raised' : 'unmoved');
    expect(host.machine.level).toBe(after);
    expect(host.machine.applied.revision).toBe(revision + (after > 1 ? 1 : 0));
    expect([raise(host, after), raise(host, 1)]).toEqual(['unmoved', 'unmoved']);
    expect(host.machine.level).toBe(after);
  });

  it('does not wait for a removed node, but for a leaving one', () => {
    const host = hostOf([1, 2], [1, 1]);
    host.apply({ kind: 'mark', node: toNodeId(2), state: 'leaving' });
    expect(raise(host, 2)).toBe('unmoved');
    host.apply({ kind: 'mark', node: toNodeId(2), state: 'removed' });
    expect(raise(host, 2)).toBe('raised');
  });

  it('rejects registrations of nodes that do not know it, also of a node that knew it before', () => {
    const host = hostOf([1, 2]);
    raise(host, 2);
    const { revision } = host.machine.applied;
    expect(register(host, 2, [1, 1])).toEqual({ kind: 'unsupported' });
    expect(register(host, 2, [3, 4])).toEqual({ kind: 'unsupported' });
    expect(register(host, 1, [1, 1])).toEqual({ kind: 'unsupported' });
    expect(host.machine.nodes().map(({ levels }) => levels)).toEqual([{ min: 1, max: 2 }]);
    expect(host.machine.applied.revision).toBe(revision);
    expect(register(host, 2, [2, 3])).toMatchObject({ kind: 'registered', node: { node: 2 } });
  });

  it('is stored in a separate row, survives restarts, and is part of a snapshot', async () => {
    const host = hostOf([1, 9]);
    expect(readLevel(host.kv, KEY)).toBe(1);
    raise(host, 7);
    await host.reopen();
    expect([readLevel(host.kv, KEY), host.machine.level]).toEqual([7, 7]);
    const behind = new CatalogHost();
    expect(behind.machine.install(host.open())[0]).toEqual({ kind: 'raised', level: 7 });
    await behind.flush();
    expect(readLevel(behind.kv, KEY)).toBe(7);
  });

  it('is not guessed when its row is broken', async () => {
    const kv = memoryKv();
    const batch = kv.batch();
    batch.put(KEY, Uint8Array.of(1, 2, 0, 0, 0, 0));
    await kv.write(batch);
    expect(() => readLevel(kv, KEY)).toThrow('its checksum is');
  });
});
