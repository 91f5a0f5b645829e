// Goal: groups are created and deleted with the catalog, cost nothing while dormant, and leave no data when deleted.
// Method: the core in one thread; the content of log and store is read back.
import { describe, expect, it } from 'vitest';
import { type GroupId, replicaOf, toNodeId } from '#base';
import type { KvReader } from '#kv';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';

async function rowsOf(kv: KvReader, group: GroupId): Promise<number> {
  const range = kv.range(databaseKit.machines.rowsOf(group));
  const rows = await range.next(10_000);
  await range.close();
  return rows.length;
}

async function trashRows(kv: KvReader): Promise<number> {
  const range = kv.range({ gte: Uint8Array.of(0, 1), lt: Uint8Array.of(0, 2) });
  const rows = await range.next(10_000);
  await range.close();
  return rows.length;
}

it('a database is in the copy of the catalog at the front before its creation is answered (C6)', async () => {
  const world = await CoreWorld.started();
  const changes: string[] = [];
  world.node.catalog.onChange((change) => {
    if ('binding' in change) changes.push(`${change.kind} ${change.binding.name}`);
  });
  const outcome = await world.node.createDatabase('shop');
  expect(world.node.catalog.lookup('shop')).toEqual(outcome.binding);
  expect(outcome).toMatchObject({ kind: 'created', binding: { name: 'shop', group: 1, createdAtMs: world.nowMs } });
  await world.node.deleteDatabase('shop');
  expect(world.node.catalog.lookup('shop')).toBeUndefined();
  expect(changes).toEqual(['created shop', 'deleted shop']);
});

it.each([
  ['before 1970', -1, 'ClockBeforeEpoch'],
  ['after the year 9999', Date.UTC(10_000, 0), 'ClockAfterYear9999'],
])('a database is not created while the clock says that it is %s', async (...[, wrongMs, reason]) => {
  const world = await CoreWorld.started();
  const { nowMs } = world;
  world.nowMs = wrongMs;
  await expect(world.node.createDatabase('shop')).rejects.toMatchObject({ code: 'unavailable', details: { reason } });
  world.nowMs = nowMs;
  expect(await world.node.createDatabase('shop')).toMatchObject({ kind: 'created' });
});

it('a deleted database ends all waits for it (C4)', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.transact(group, 'one');
  await world.readable(group);
  const heard: (number | undefined)[] = [];
  world.node.onReadable(group, (revision) => heard.push(revision));
  const waiting = world.node.waitFor(
    group,
    ((await world.node.latest(group)) + 5) as never,
    new AbortController().signal,
  );
  world.log.isAutomatic = false;
  const deleted = world.node.deleteDatabase('shop');
  await settle();
  const write = world.transact(group, 'two').catch((error: unknown) => error);
  await settle();
  world.log.sync();
  await deleted;
  expect(await waiting).toBe('gone');
  expect(heard).toEqual([undefined]);
  expect(await write).toMatchObject({ code: 'not_found', details: { reason: 'DatabaseNotFound' } });
  expect(await world.node.waitFor(group, 1 as never, new AbortController().signal)).toBe('gone');
  await expect(world.node.latest(group)).rejects.toMatchObject({ code: 'not_found' });
});

it('the trash (C8) clears a deleted database and removes its mark', async () => {
  const world = await CoreWorld.started({ trashSliceRows: 3 });
  const [one, two] = [await world.create('one'), await world.create('two')];
  for (let at = 0; at < 10; at += 1) await Promise.all([world.transact(one, `a${at}`), world.transact(two, `b${at}`)]);
  await settle();
  const [before, others] = [await rowsOf(world.kv, one), await rowsOf(world.kv, two)];
  await world.node.deleteDatabase('one');
  world.pass(9999);
  await settle();
  // Reads in progress still find their rows.
  expect([await rowsOf(world.kv, one), await trashRows(world.kv)]).toEqual([before, 1]);
  world.pass(1);
  await settle();
  expect([await rowsOf(world.kv, one), await rowsOf(world.kv, two)]).toEqual([0, others]);
  expect(await trashRows(world.kv)).toBe(0);
  expect(world.log.recover().tombstones).toEqual(new Set([one]));
});

describe('many databases', () => {
  it('are dormant after a restart, and each opens at its first use', async () => {
    const world = await CoreWorld.started();
    const names = Array.from({ length: 200 }, (_, at) => `db-${at}`);
    const groups = await Promise.all(names.map((name) => world.create(name)));
    await Promise.all(groups.map((group) => world.transact(group, 'one')));
    world.pass(1000);
    await settle();
    await world.crash();
    const before = world.log.durable.length;
    expect(world.node.catalog.list()).toHaveLength(200);
    for (const group of groups) expect(world.node.readable(group)).toBe(1);
    expect(world.log.durable.length).toBe(before);
    const some = groups.filter((_, at) => at % 20 === 0);
    expect(await Promise.all(some.map((group) => world.transact(group, 'two')))).toMatchObject(
      some.map(() => ({ revision: 2 })),
    );
    const touched = new Set(world.log.durable.slice(before).map((record) => 'group' in record && record.group));
    expect(touched).toEqual(new Set(some));
  });

  it('that open together share the syncs of their elections', async () => {
    const world = await CoreWorld.started();
    const groups = await Promise.all(Array.from({ length: 50 }, (_, at) => world.create(`db-${at}`)));
    const syncs = world.log.syncCount;
    await Promise.all(groups.map((group) => world.transact(group, 'one')));
    // Vote, no-op, proposals.
    expect(world.log.syncCount - syncs).toBe(3);
  });

  it('have one election each with a slow disk', async () => {
    const { world, group } = await CoreWorld.withShop();
    world.log.isAutomatic = false;
    const write = world.transact(group, 'one');
    await settle();
    for (let time = 0; time < 5; time += 1) world.pass(4000);
    expect(world.core.deadlineMs).toBeGreaterThan(world.nowMs);
    world.log.isAutomatic = true;
    world.log.sync();
    expect(await write).toMatchObject({ kind: 'committed', revision: 1 });
    expect(world.log.recover().groups.get(group)?.hardState).toEqual({ term: 1, vote: replicaOf(toNodeId(1)) });
  });

  it('take turns when one of them has many entries to apply', async () => {
    const world = await CoreWorld.started({ applySliceEntries: 4, applyEntriesMax: 8 });
    const [busy, quiet] = [await world.create('busy'), await world.create('quiet')];
    await Promise.all([world.transact(busy, 'warm'), world.transact(quiet, 'warm')]);
    const order: string[] = [];
    await Promise.all([
      ...Array.from({ length: 40 }, async () => order.push(`busy ${(await world.transact(busy, 'x')).revision}`)),
      world.transact(quiet, 'x').then(() => order.push('quiet')),
    ]);
    expect(order.indexOf('quiet')).toBeLessThanOrEqual(8);
    expect((await world.history(busy)).length).toBe(41);
  });
});
