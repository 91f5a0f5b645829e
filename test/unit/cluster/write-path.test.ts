// Goal: a proposal is answered when it is durable and applied, and can be read when its rows are stored; one append
// carries all groups. Method: one node over a log whose syncs the test releases.
import { describe, expect, it } from 'vitest';
import { DatabaseError, type GroupId } from '#base';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';

describe('a write', () => {
  it('is committed with the next revision, which later reads must include', async () => {
    const { world, group } = await CoreWorld.withShop();
    const outcome = await world.transact(group, 'first');
    expect(outcome).toEqual({
      kind: 'committed',
      revision: 1,
      basis: 0,
      recordedTimeMs: world.nowMs,
      eventCount: 1,
      storedIds: [],
    });
    expect(world.node.answered(group)).toBe(1);
    await world.readable(group);
    expect([world.node.readable(group), databaseKit.storedRevision(world.kv, group)]).toEqual([1, 1]);
  });

  it('is answered before its rows are stored, and can be read afterwards (C2, C6)', async () => {
    const { world, group } = await CoreWorld.withShop();
    await world.transact(group, 'first');
    await world.readable(group);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.kv.gate = promise;
    expect(await world.transact(group, 'second')).toMatchObject({ kind: 'committed', revision: 2 });
    expect(await world.transact(group, 'third')).toMatchObject({ kind: 'committed', revision: 3 });
    expect([world.node.answered(group), world.node.readable(group)]).toEqual([3, 1]);
    const heard: string[] = [];
    const reads = [
      world.node.latest(group).then((revision) => heard.push(`latest ${revision}`)),
      world.readable(group).then(() => heard.push(`readable ${world.node.readable(group)}`)),
    ];
    await settle();
    expect(heard).toEqual([]);
    resolve();
    await Promise.all(reads);
    expect(heard).toEqual(['latest 3', 'readable 3']);
    expect(await databaseKit.history(world.kv, group)).toEqual(['first', 'second', 'third']);
  });

  it('with a recorded id is answered when its rows can be read (C2)', async () => {
    const { world, group } = await CoreWorld.withShop();
    await world.transact(group, 'warm');
    await world.readable(group);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.kv.gate = promise;
    const first = await world.transact(group, 'once');
    const again = world.node.transact(group, databaseKit.payload('once')).then(({ kind, revision }) => {
      expect(world.node.readable(group)).toBe(first.revision);
      return { kind, revision };
    });
    await settle();
    resolve();
    expect(await again).toEqual({ kind: 'replayed', revision: first.revision });
  });

  it('gets the recorded time of the leader, which never decreases (C3, SPEC-RECORDED-TIME)', async () => {
    const { world, group } = await CoreWorld.withShop();
    const times: number[] = [];
    for (const step of [5, -1000, 3]) {
      world.nowMs += step;
      const outcome = await world.transact(group, 'x');
      times.push(outcome.kind === 'committed' ? outcome.recordedTimeMs : Number.NaN);
    }
    expect(times).toEqual([1_000_005, 1_000_005, 1_000_005]);
    world.nowMs -= 100;
    await world.crash();
    const after = await world.transact(group, 'y');
    expect(after).toMatchObject({ kind: 'committed', recordedTimeMs: 1_000_005 });
  });

  it('is rejected while the clock is after the year 9999, and records no such time', async () => {
    const { world, group } = await CoreWorld.withShop();
    const { nowMs } = world;
    world.nowMs = Date.UTC(10_000, 0);
    await expect(world.transact(group, 'x')).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'ClockAfterYear9999' },
    });
    world.nowMs = Date.UTC(10_000, 0) - 1;
    const other = await world.create('other');
    expect(await world.transact(other, 'x')).toMatchObject({ kind: 'committed', recordedTimeMs: world.nowMs });
    world.nowMs = nowMs + 1;
    expect(await world.transact(group, 'x')).toMatchObject({ revision: 1, recordedTimeMs: nowMs + 1 });
  });
});

it('group commit writes everything of a turn in one append, across groups (C1)', async () => {
  const world = await CoreWorld.started();
  const groups = await Promise.all(['a', 'b', 'c'].map((name) => world.create(name)));
  await Promise.all(groups.map((group) => world.transact(group, 'warm')));
  await Promise.all(groups.map((group) => world.readable(group)));
  const syncs = world.log.syncCount;
  const writes = world.kv.writes.length;
  const outcomes = await Promise.all(
    groups.flatMap((group) => Array.from({ length: 10 }, () => world.transact(group, 'x'))),
  );
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array.from({ length: 30 }, () => 'committed'));
  expect(world.log.syncCount - syncs).toBe(1);
  await Promise.all(groups.map((group) => world.readable(group)));
  expect(world.kv.writes.length - writes).toBe(1);
  expect(groups.map((group) => world.node.readable(group))).toEqual([11, 11, 11]);
});

describe('rows for which no request waits (C6)', () => {
  async function applied(): Promise<{ world: CoreWorld; group: GroupId; writes: () => number }> {
    const { world, group } = await CoreWorld.withShop({ writeEntries: 4 });
    await world.transact(group, 'warm');
    await world.readable(group);
    const before = world.kv.writes.length;
    for (const text of ['some', 'more', 'texts']) await world.transact(group, text);
    await settle();
    const writes = (): number => world.kv.writes.length - before;
    expect(writes()).toBe(0);
    return { world, group, writes };
  }

  const occasions: readonly [string, (world: CoreWorld, group: GroupId) => unknown][] = [
    ['they are enough for a batch', (world, group) => world.transact(group, 'four')],
    ['the next tick comes', (world) => world.pass(1)],
    ['a request waits for them', (world, group) => world.readable(group)],
    ['a listener is added', (world, group) => world.node.onReadable(group, () => undefined)],
    ['a read asks for the latest', (world, group) => world.node.latest(group)],
    ['a database is created', (world) => world.create('other')],
    ['an entry must look into the store', (world, group) => world.transact(group, 'abc')],
    ['the node drains', (world) => world.node.drain()],
  ];

  it.each(occasions)('are written together as soon as %s', async (_when, happens) => {
    const { world, group, writes } = await applied();
    await happens(world, group);
    await settle();
    expect(writes()).toBeGreaterThan(0);
    expect(databaseKit.storedRevision(world.kv, group)).toBeGreaterThanOrEqual(4);
  });
});

it('a failure of the log stops the node, and answers no request in flight (C2)', async () => {
  const { world, group } = await CoreWorld.withShop();
  await world.transact(group, 'warm');
  world.log.isAutomatic = false;
  let answered = 0;
  const count = (): number => (answered += 1);
  void world.transact(group, 'x').then(count, count);
  await settle();
  world.log.fail(new Error('EIO'));
  world.log.sync();
  void world.transact(group, 'y').then(count, count);
  await settle();
  expect(world.failures.map((failure) => failure.message)).toEqual(['EIO']);
  expect(answered).toBe(0);
});

it('a failure of the store stops the node', async () => {
  const { world, group } = await CoreWorld.withShop();
  let answered = 0;
  world.kv.gate = Promise.reject(new DatabaseError('internal', 'No space left'));
  const count = (): number => (answered += 1);
  void world.transact(group, 'x').then(count, count);
  await settle();
  expect(world.failures.map((failure) => failure.message)).toEqual(['No space left']);
  expect(answered).toBe(0);
});
