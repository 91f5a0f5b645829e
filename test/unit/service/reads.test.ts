// Goal: reads answer at the requested revision (V4), include acknowledged writes (C6), wait a bounded time, and end
// with the database. Method: the service of one node with a manual clock.
import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseError, toRevision } from '#base';
import { ALL } from '#model';
import type { ReadAt } from '#service';
import { NEVER, ServiceWorld, settle } from '../../support/service-world.ts';

const SHOP = { databaseName: 'shop', signal: NEVER } as const;
const QUERY = { selector: ALL, revisions: {}, direction: 'forward' } as const;

let world: ServiceWorld;

beforeEach(async () => {
  world = await new ServiceWorld().start();
  await world.database('shop', 2);
});

function databaseAt(at: ReadAt, rest: { signal?: AbortSignal; minRevision?: number } = {}) {
  const minRevision = rest.minRevision === undefined ? {} : { minRevision: toRevision(rest.minRevision) };
  return world.service.databaseAt({ databaseName: 'shop', at, signal: rest.signal ?? NEVER, ...minRevision });
}

function revision(at: number): ReadAt {
  return toRevision(at);
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(String, (failure: unknown) => failure);

async function soFar(promise: Promise<unknown>): Promise<unknown> {
  await settle();
  return Promise.race([promise, Promise.resolve('pending')]);
}

it('cached data of a revision belongs to the present database of the name', async () => {
  const [old, again] = [await databaseAt(revision(1)), await databaseAt(revision(1))];
  expect([again.chainHash === old.chainHash, again]).toEqual([true, old]);
  await world.service.deleteDatabase({ databaseName: 'shop' });
  await world.database('shop', 1);
  const current = await databaseAt(revision(1));
  expect(current.databaseId).not.toBe(old.databaseId);
  expect(current.chainHash).not.toEqual(old.chainHash);
});

it('a read at a number (V5) waits for a revision that this node will apply soon', async () => {
  const read = databaseAt(revision(3));
  expect(await soFar(read)).toBe('pending');
  await world.transact('shop', { events: [{ id: 'late' }] });
  expect(await read).toMatchObject({ revision: 3 });
  expect(world.timers.count).toBe(0);
});

it('a read at a number (V5) asks the leader after its wait, and returns RevisionNotFound beyond the end of the database', async () => {
  const read = failureOf(databaseAt(revision(4)));
  await settle();
  world.timers.pass(249);
  expect(await soFar(read)).toBe('pending');
  world.timers.pass(1);
  expect(await read).toMatchObject({ code: 'not_found', details: { reason: 'RevisionNotFound' } });
});

it('a read at a number (V5) ends with its signal, and leaves no timer behind (V8)', async () => {
  const abort = new AbortController();
  const read = failureOf(databaseAt(revision(4), { signal: abort.signal }));
  await settle();
  const reason = new DatabaseError('unavailable', 'The caller went away');
  abort.abort(reason);
  expect(await read).toBe(reason);
  expect(world.timers.count).toBe(0);
});

it('a read waits for the revision that the relaying node has shown (TM5), if it was of the same database', async () => {
  const { databaseId } = await databaseAt('cached');
  const read = world.service.databaseAt({ ...SHOP, at: 'cached', shown: { databaseId, revision: toRevision(3) } });
  expect(await soFar(read)).toBe('pending');
  await world.transact('shop');
  expect(await read).toMatchObject({ revision: 3 });
});

it('a deleted database (V6) ends the waits for it', async () => {
  const waits = [
    failureOf(databaseAt(revision(9))),
    failureOf(world.service.awaitDatabase({ ...SHOP, revision: toRevision(9) })),
  ];
  await settle();
  await world.service.deleteDatabase({ databaseName: 'shop' });
  const gone = { code: 'not_found', details: { reason: 'DatabaseNotFound' } };
  for (const failure of await Promise.all(waits)) expect(failure).toMatchObject(gone);
});

it('a deleted database (V6) ends a stream between two slices, also when another database has its name', async () => {
  for (let n = 0; n < 20; n++) {
    await world.transact('shop', { events: [{ id: `big-${n}`, data: new Uint8Array(100_000) }] });
  }
  const { chunks } = await world.service.queryEvents({ ...SHOP, at: 'latest', query: QUERY });
  const slices = chunks[Symbol.asyncIterator]();
  expect((await slices.next()).done).toBe(false);
  await world.service.deleteDatabase({ databaseName: 'shop' });
  await world.service.createDatabase({ databaseName: 'shop' });
  await settle();
  let failure: DatabaseError | undefined;
  while (failure === undefined)
    failure = await slices.next().then(
      () => undefined,
      (error: DatabaseError) => error,
    );
  expect(failure).toMatchObject({ code: 'not_found', details: { reason: 'DatabaseNotFound' } });
});

describe('after an acknowledged write whose rows are not in the store yet', () => {
  const reads = [
    ['at the number', () => databaseAt(revision(3)), { revision: 3 }],
    ['at latest', () => databaseAt('latest'), { revision: 3 }],
    ['at cached', () => databaseAt('cached'), { revision: 3 }],
    ['above a floor', () => databaseAt('cached', { minRevision: 3 }), { revision: 3 }],
    ['of the list of databases', () => world.service.listDatabases({ signal: NEVER }), [{ revision: 3 }]],
    ['of AwaitDatabase', () => world.service.awaitDatabase({ ...SHOP, revision: toRevision(3) }), { revision: 3 }],
  ] as const;

  async function answeredEarly(): Promise<() => void> {
    const { group } = world.core.node.catalog.lookup('shop') ?? {};
    if (group === undefined) throw new Error('The database is there');
    await world.core.readable(group);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.core.kv.gate = promise;
    expect(await world.transact('shop', { events: [{ id: 'early' }] })).toMatchObject({ revision: 3 });
    return resolve;
  }

  it.each(reads)('a read %s waits for them, and returns the write (C6)', async (_name, run, expected) => {
    const openStore = await answeredEarly();
    const read = run();
    expect(await soFar(read)).toBe('pending');
    openStore();
    expect(await read).toMatchObject(expected);
  });

  it('a subscription begins with the write', async () => {
    const openStore = await answeredEarly();
    const opened = world.service.subscribe({ ...SHOP, selector: ALL, heartbeatMs: 1000 });
    expect(await soFar(opened)).toBe('pending');
    openStore();
    expect(await opened).toMatchObject({ revision: 3 });
  });

  it('an earlier revision is read without a wait, and the answer has the latest revision', async () => {
    const openStore = await answeredEarly();
    expect(await databaseAt(revision(2))).toMatchObject({ revision: 2, latestRevision: 3 });
    openStore();
  });
});
