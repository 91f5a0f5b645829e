// Goal: queues have limits and rejections name them; accepted requests are answered; a drain finishes them. Method: the
// core in one thread with small limits, over a log whose syncs the test releases.
import { describe, expect, it } from 'vitest';
import { CoreWorld, settle } from '../../support/cluster/core-world.ts';
import { databaseKit } from '../../support/cluster/machine-kit.ts';

const TEXT_BYTES = databaseKit.payload('x').length;

/** A world with one database and its leader, whose log waits for the test. */
async function started(limits: Parameters<typeof CoreWorld.withShop>[0] = {}): ReturnType<typeof CoreWorld.withShop> {
  const { world, group } = await CoreWorld.withShop(limits);
  await world.transact(group, 'warm');
  world.log.isAutomatic = false;
  return { world, group };
}

function watch(promises: readonly Promise<unknown>[]): readonly { value?: unknown }[] {
  return promises.map((promise) => {
    const watched: { value?: unknown } = {};
    promise.then(
      (value) => Object.assign(watched, { value }),
      (value: unknown) => Object.assign(watched, { value }),
    );
    return watched;
  });
}

describe('back-pressure', () => {
  it('rejects a write beyond the limit of uncommitted bytes, and accepts one when some are committed', async () => {
    const { world, group } = await started({ uncommittedBytesMax: 3 * TEXT_BYTES });
    const answers = watch([1, 2, 3, 4].map(() => world.transact(group, 'x')));
    await settle();
    const refused = { code: 'rate_limited', details: { reason: 'UncommittedBytes' } };
    expect(answers).toMatchObject([{}, {}, {}, { value: refused }]);
    expect(answers[0]).toEqual({});
    expect(world.refusals).toEqual(['UncommittedBytes']);
    world.log.isAutomatic = true;
    world.log.sync();
    await settle();
    expect(answers.slice(0, 3)).toMatchObject([2, 3, 4].map((revision) => ({ value: { revision } })));
    expect(await world.transact(group, 'x')).toMatchObject({ revision: 5 });
  });

  it('reports a request as an entry before it is durable, and not a rejected one', async () => {
    const { world, group } = await started({ uncommittedBytesMax: 3 * TEXT_BYTES });
    const admitted: string[] = [];
    const propose = (text: string): Promise<unknown> =>
      world.node.transact(group, databaseKit.payload(text), { onAdmitted: () => admitted.push(text) });
    const answers = watch(['a', 'b', 'c', 'd'].map(propose));
    await settle();
    expect([admitted, answers.slice(0, 3)]).toEqual([
      ['a', 'b', 'c'],
      [{}, {}, {}],
    ]);
    world.log.isAutomatic = true;
    world.log.sync();
    await settle();
    expect(answers.slice(0, 3)).toMatchObject([2, 3, 4].map((revision) => ({ value: { revision } })));
    world.disk = 'refusing-writes';
    await expect(propose('e')).rejects.toMatchObject({ code: 'storage_full' });
    expect(admitted).toEqual(['a', 'b', 'c']);
  });

  it('rejects writes while too many entries are committed and not applied', async () => {
    const { world, group } = await started({ backlogEntriesMax: 3 });
    const gate = Promise.withResolvers<void>();
    world.log.isAutomatic = true;
    world.kv.gate = gate.promise;
    const first = watch([1, 2, 3, 4].map(() => world.transact(group, 'x')));
    await settle();
    const second = watch([world.transact(group, 'y')]);
    await settle();
    expect(second).toMatchObject([{ value: { code: 'rate_limited', details: { reason: 'ApplyBacklog' } } }]);
    gate.resolve();
    await settle();
    expect(first).toMatchObject([2, 3, 4, 5].map((revision) => ({ value: { revision } })));
    expect(await world.transact(group, 'z')).toMatchObject({ revision: 6 });
  });

  it('rejects writes while too many bytes wait for the election', async () => {
    const { world } = await started({ waitingBytesMax: 2.5 * TEXT_BYTES });
    world.log.isAutomatic = true;
    const other = await world.create('other');
    world.log.isAutomatic = false;
    const answers = watch([1, 2, 3].map(() => world.transact(other, 'x')));
    await settle();
    expect(answers).toMatchObject([{}, {}, { value: { details: { reason: 'WaitingBytes' } } }]);
    world.log.isAutomatic = true;
    world.log.sync();
    await settle();
    expect(answers.slice(0, 2)).toMatchObject([1, 2].map((revision) => ({ value: { revision } })));
  });

  it('limits the number of waiting reads', async () => {
    const { world, group } = await CoreWorld.withShop({ pendingReadsMax: 0 });
    await expect(world.node.latest(group)).rejects.toMatchObject({ details: { reason: 'PendingReads' } });
  });
});

it('a nearly full disk rejects writes and creations, and allows deletions, revocations of keys and reads', async () => {
  const { world, group } = await started();
  world.log.isAutomatic = true;
  world.disk = 'refusing-writes';
  const diskFull = { code: 'storage_full', details: { reason: 'DiskFull' } };
  await expect(world.transact(group, 'x')).rejects.toMatchObject(diskFull);
  await expect(world.node.createDatabase('other')).rejects.toThrow(
    'reads continue, databases can be deleted, and keys revoked',
  );
  expect(await world.node.removeApiKey('0011223344556677')).toMatchObject({ kind: 'key-unmoved' });
  expect(await world.node.latest(group)).toBe(1);
  expect(await world.node.deleteDatabase('shop')).toMatchObject({ kind: 'deleted' });
  world.disk = 'read-only';
  await expect(world.node.deleteDatabase('shop')).rejects.toMatchObject(diskFull);
  await expect(world.node.deleteDatabase('shop')).rejects.toThrow('databases cannot be deleted and keys cannot');
  await expect(world.node.removeApiKey('0011223344556677')).rejects.toMatchObject(diskFull);
  world.disk = 'open';
  expect(await world.node.createDatabase('other')).toMatchObject({ kind: 'created' });
});

it('a drain answers accepted requests, rejects later ones, and makes everything durable', async () => {
  const { world, group } = await started();
  await world.node.currentCatalog();
  expect(world.node.currentCatalog()).toBeUndefined();
  const answers = watch([1, 2, 3].map(() => world.transact(group, 'x')));
  const drained = watch([world.node.drain()]);
  const { node } = world;
  const asked = [world.transact(group, 'late'), node.latest(group), node.createDatabase('other')];
  const late = watch([...asked, node.currentCatalog() ?? Promise.resolve()]);
  await settle();
  const draining = { value: { code: 'unavailable', details: { reason: 'Draining' } } };
  expect(late).toMatchObject([draining, draining, draining, draining]);
  expect([drained, world.node.health().accepting]).toEqual([[{}], false]);
  world.log.isAutomatic = true;
  world.log.sync();
  await settle();
  expect(answers).toMatchObject([2, 3, 4].map((revision) => ({ value: { revision } })));
  expect(drained).toEqual([{ value: undefined }]);
  await world.log.close();
  expect(world.kv.unsyncedCount).toBe(0);
  expect(world.log.recover().groups.get(group)).toMatchObject({ checkpoint: { revision: 4 }, entries: [] });
});

it('checkpoints (C7) are made early when many bytes were applied', async () => {
  const { world, group } = await started({ checkpointBytes: 100 });
  world.log.isAutomatic = true;
  await world.transact(group, 'x'.repeat(200));
  await world.readable(group);
  world.core.tick();
  await settle();
  expect(world.log.recover().groups.get(group)?.checkpoint.revision).toBe(2);
});
