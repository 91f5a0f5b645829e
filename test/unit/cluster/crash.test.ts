// Goal: after a crash with any loss of recent appends and unsynced batches, a node continues with its acknowledged
// writes, or refuses to start on inconsistent data. Method: crashes at chosen moments; the simulation has random ones.
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, LEVELS, toGroupId, toHex } from '#base';
import { RowKeys } from '#database';
import { checkEnded } from '../../../src/cluster/core/crash-recovery.ts';
import { TABLE, tableOfKey } from '../../../src/database/keys.ts';
import type { LogRecord } from '../../../src/storage/log-records.ts';
import { BLOCK_BYTES } from '../../../src/storage/segments/segment-format.ts';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { LossyKv } from '../../support/cluster/lossy-kv.ts';
import { MemoryLog } from '../../support/cluster/memory-log.ts';
import { NEXT_LEVELS } from '../../support/cluster/next-release.ts';
import { dump } from '../../support/database-rows.ts';

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
    expect(world.node.readable(group)).toBe(4);
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

  it('serves a new cluster at the level of its release with a slow disk', async () => {
    const world = new CoreWorld({}, NEXT_LEVELS);
    world.log.isAutomatic = false;
    const levels: number[] = [];
    const starting = world.start().then(() => levels.push(world.node.catalog.level));
    for (let syncs = 0; levels.length === 0 && syncs < 10; syncs++) {
      await settle();
      world.log.sync();
    }
    await starting;
    expect(levels).toEqual([NEXT_LEVELS.max]);
  });

  it.each([0, 1, 2, 3, 4])(
    'serves a new cluster at the level of its release after a crash that follows %i syncs',
    async (syncs) => {
      const world = new CoreWorld({}, NEXT_LEVELS);
      world.log.isAutomatic = false;
      // This start waits for syncs that never happen.
      void world.start();
      for (let done = 0; done < syncs; done++) {
        await settle();
        world.log.sync();
      }
      await settle();
      await world.crash();
      expect(world.node.catalog.level).toBe(NEXT_LEVELS.max);
    },
  );

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

  it('refuses to start with the log of a replica that is not in the catalog, unless it is marked as trash', () => {
    const group = toGroupId(7);
    const refused = expect.objectContaining({ details: { reason: 'StoreAndLogDisagree' } });
    expect(() => checkEnded([group], () => false)).toThrow(refused);
    expect(() => checkEnded([group], () => true)).not.toThrow();
  });
});

describe('a start after damage was found (D26)', () => {
  type Damage = (value: Uint8Array) => Uint8Array | undefined;

  /** A node whose log has nothing that its database has not. */
  async function settled(): Promise<{ world: CoreWorld; group: GroupId; rows: readonly string[] }> {
    const { world, group } = await CoreWorld.withShop();
    for (const text of ['one', 'two', 'three']) await world.transact(group, text);
    await settle();
    await world.crash();
    await settle();
    return { world, group, rows: await dump(world.kv, group) };
  }

  async function keysOf({ kv }: CoreWorld, group: GroupId): Promise<readonly Uint8Array[]> {
    const range = kv.range(new RowKeys(group).all());
    const rows = await range.next(1000);
    await range.close();
    return rows.map(({ key }) => key).filter((key) => tableOfKey(key) !== TABLE.APPLIED);
  }

  async function damage({ kv }: CoreWorld, key: Uint8Array, change: Damage): Promise<void> {
    const batch = kv.batch();
    const value = change((kv.get(key) ?? new Uint8Array(0)).slice());
    if (value === undefined) batch.del(key);
    else batch.put(key, value);
    await kv.write(batch);
    await kv.checkpointFiles();
  }

  it.each<[string, Damage]>([
    ['is missing', () => undefined],
    ['has a wrong byte', (value) => value.with(1, (value[1] ?? 0) ^ 16)],
  ])('rebuilds a database of which any row %s', async (_what, change) => {
    const { world, group, rows } = await settled();
    const keys = await keysOf(world, group);
    for (const key of keys) {
      // A rebuild is one flush, which has fewer rows of times.
      if (world.kv.get(key) === undefined) continue;
      await damage(world, key, change);
      await world.crash({ isSuspect: true });
      await settle();
      expect([toHex(key), world.rebuilt.splice(0)]).toEqual([toHex(key), [group]]);
      expect([toHex(key), await dump(world.kv, group)]).toEqual([toHex(key), rows]);
    }
    expect(keys.length).toBeGreaterThan(12);
    await world.transact(group, 'four');
    expect(await world.history(group)).toEqual(['one', 'two', 'three', 'four']);
  });

  it('removes rows of groups that the node does not have, and leaves those of deleted ones to the trash', async () => {
    const { world, group, rows } = await settled();
    const [stray, deleted] = [toGroupId(group + 256), await world.create('deleted')];
    const appliedOf = (of: GroupId): Uint8Array | undefined => world.kv.get(new RowKeys(of).applied());
    const applied = appliedOf(group);
    await damage(world, new RowKeys(stray).applied().slice(), () => applied);
    await world.node.deleteDatabase('deleted');
    await world.crash({ isSuspect: true });
    expect([appliedOf(stray), appliedOf(deleted)]).toEqual([undefined, expect.any(Uint8Array)]);
    expect([world.rebuilt, await dump(world.kv, group)]).toEqual([[], rows]);
  });

  it('rebuilds nothing when every row is there', async () => {
    const { world, group, rows } = await settled();
    await world.crash({ isSuspect: true });
    expect([world.rebuilt, await dump(world.kv, group)]).toEqual([[], rows]);
  });

  it('leaves a database out of service when its history is damaged, too', async () => {
    const { world, group } = await settled();
    const other = await world.create('other');
    await damage(world, new RowKeys(group).position(2).slice(), () => undefined);
    world.log = world.log.crash(0);
    world.kv = await world.kv.crash(() => true);
    const [path = ''] = world.kv.disk.files;
    const bytes = world.kv.disk.file(path);
    bytes[BLOCK_BYTES + 20] = (bytes[BLOCK_BYTES + 20] ?? 0) ^ 1;
    await world.start({ isSuspect: true });
    await settle();
    const fault = expect.stringContaining(`of the history of group ${group} cannot be read`);
    expect(world.notes.at(-1)).toEqual({ kind: 'damaged', group, revision: 1, fault });
    expect(world.node.absence(group)).toMatchObject({ details: { reason: 'DatabaseDamaged' } });
    expect(await world.transact(other, 'one')).toMatchObject({ kind: 'committed', revision: 1 });
  });

  it.each<[string, Damage]>([
    ['is missing', () => undefined],
    ['has a wrong byte', (value) => value.with(1, (value[1] ?? 0) ^ 16)],
  ])('rebuilds at any start a database whose applied row %s', async (_what, change) => {
    const { world, group, rows } = await settled();
    await damage(world, new RowKeys(group).applied().slice(), change);
    await world.crash();
    await settle();
    expect([world.rebuilt.splice(0), await dump(world.kv, group)]).toEqual([[group], rows]);
    await world.crash();
    expect(world.rebuilt).toEqual([]);
  });

  it('rebuilds at any start databases without any row, with what the log has after their checkpoints', async () => {
    const { world, group, rows } = await settled();
    const unused = await world.create('unused');
    await world.transact(group, 'four');
    await settle();
    const unusedRows = await dump(world.kv, unused);
    for (const each of [group, unused]) {
      const { gte, lt } = new RowKeys(each).all();
      await world.kv.clear(gte, lt);
    }
    await world.kv.checkpointFiles();
    await world.crash();
    await settle();
    // Nothing of the other one was durable.
    expect(world.rebuilt).toEqual([group]);
    expect(await dump(world.kv, unused)).toEqual(unusedRows);
    expect((await dump(world.kv, group)).length).toBeGreaterThan(rows.length);
    expect(await world.history(group)).toEqual(['one', 'two', 'three', 'four']);
    await world.transact(unused, 'one');
    expect(await world.history(unused)).toEqual(['one']);
  });

  it('has a created database whose first row a power failure has lost, and reports no damage', async () => {
    const { world } = await settled();
    const unused = await world.create('unused');
    await world.crash({ survives: () => false });
    await settle();
    await world.transact(unused, 'one');
    expect([await world.history(unused), world.rebuilt]).toEqual([['one'], []]);
  });
});

function isLate(record: LogRecord): record is Extract<LogRecord, { readonly kind: 'entry' }> {
  return record.kind === 'entry' && record.index >= 4;
}
