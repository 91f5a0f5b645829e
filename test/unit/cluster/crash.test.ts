// Goal: after a crash with any loss of recent appends and unsynced batches, a node continues with its acknowledged
// writes, or refuses to start on inconsistent data. Method: crashes at chosen moments; the simulation has random ones.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, LEVELS } from '#base';
import type { LogRecord } from '../../../src/storage/log-records.ts';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { LossyKv } from '../../support/cluster/lossy-kv.ts';
import { MemoryLog } from '../../support/cluster/memory-log.ts';

describe('recovery (C2, C7)', () => {
  async function written(): Promise<{ world: CoreWorld; group: GroupId }> {
    const { world, group } = await CoreWorld.withShop();
    await world.transact(group, 'one');
    await settle();
    world.pass(1000);
    await settle();
    for (const text of ['two', 'three', 'four']) {
      await world.transact(group, text);
      await settle();
    }
    expect(world.kv.unsyncedCount).toBe(3);
    return { world, group };
  }

  it('skips entries that an intact store has', async () => {
    const { world, group } = await written();
    const before = world.kv.writes.length;
    await world.crash();
    expect(world.node.applied(group)).toBe(4);
    // Only the new no-op of the catalog is applied. The database is unchanged and stays dormant.
    expect([before > 0, world.kv.writes]).toEqual([true, [1]]);
  });

  it('shows a key whose rows were not written before the crash to a confirmed read of the catalog', async () => {
    const { world } = await written();
    const secrets = [{ hash: new Uint8Array(32), createdAtMs: 1, expiresAtMs: undefined }];
    const grants = [{ role: 'reader', databases: '*' }] as const;
    const key = { id: '00ff000000000000', version: 1, name: 'k', grants, createdBy: 'b', secrets };
    world.kv.gate = new Promise(() => undefined);
    void world.node.keepApiKey({ ...key, createdAtMs: 1, expiresAtMs: undefined });
    await settle();
    expect(world.node.catalog.apiKey(key.id)).toBeUndefined();
    await world.crash();
    await world.node.latest(CATALOG_GROUP);
    expect(world.node.catalog.apiKey(key.id)).toMatchObject({ name: 'k' });
  });

  it('serves a new cluster at its level with a slow disk', async () => {
    const world = new CoreWorld();
    world.log.isAutomatic = false;
    const levels: number[] = [];
    const starting = world.start().then(() => levels.push(world.node.catalog.level));
    for (let syncs = 0; levels.length === 0 && syncs < 10; syncs++) {
      await settle();
      world.log.sync();
    }
    await starting;
    expect(levels).toEqual([LEVELS.max]);
  });

  it.each([0, 1, 2, 3, 4])('serves a new cluster at its level after a crash that follows %i syncs', async (syncs) => {
    const world = new CoreWorld();
    world.log.isAutomatic = false;
    // This start waits for syncs that never happen.
    void world.start();
    for (let done = 0; done < syncs; done++) {
      await settle();
      world.log.sync();
    }
    await settle();
    await world.crash();
    expect(world.node.catalog.level).toBe(LEVELS.max);
  });

  it('makes the checkpoint of an unused group, so that its segments can be dropped (W12)', async () => {
    const { world, group } = await written();
    const checkpoints = (): readonly number[] =>
      world.log.durable.flatMap((each) =>
        each.kind === 'checkpoint' && each.group === group ? [each.checkpoint.revision] : [],
      );
    expect(checkpoints()).not.toContain(4);
    await world.crash();
    await settle();
    expect(checkpoints().at(-1)).toBe(4);
    const { length } = checkpoints();
    // The state of the checkpoint survives a power failure, and the checkpoint is not written twice.
    await world.crash({ survives: () => false });
    await settle();
    expect(await world.history(group)).toEqual(['one', 'two', 'three', 'four']);
    expect(checkpoints()).toHaveLength(length);
  });

  it.each<[string, string, boolean, (record: LogRecord) => readonly LogRecord[]]>([
    ['a store that is ahead of the log', 'StoreAndLogDisagree', true, (each) => (isLate(each) ? [] : [each])],
    [
      'a log that a later release wrote',
      'UnknownFeatureLevel',
      true,
      (each) => [isLate(each) ? { ...each, level: LEVELS.max + 1 } : each],
    ],
    ['a log without its store', 'StoreAndLogDisagree', false, (each) => [each]],
  ])('refuses to start with %s', async (_what, reason, hasStore, change) => {
    const { world } = await written();
    const next = new CoreWorld();
    next.kv = hasStore ? await world.kv.crash(() => true) : new LossyKv();
    next.log = new MemoryLog(world.log.durable.flatMap(change));
    await expect(next.start()).rejects.toMatchObject({ details: { reason } });
  });
});

function isLate(record: LogRecord): record is Extract<LogRecord, { readonly kind: 'entry' }> {
  return record.kind === 'entry' && record.index >= 4;
}
