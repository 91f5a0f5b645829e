// Reads answer at the revision they name, wait no longer than they may, and end with their database (V4 to V6, V8).
import { beforeEach, expect, it } from 'vitest';
import { DatabaseError, toRevision } from '#base';
import { ALL } from '#model';
import type { ReadAt } from '#service';
import { NEVER, ServiceWorld, settle } from '../../support/service-world.ts';

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

async function soFar<Value>(promise: Promise<Value>): Promise<Value | 'pending'> {
  await settle();
  return Promise.race([promise, Promise.resolve('pending' as const)]);
}

it('facts that are kept of a revision are those of the instance that the name means', async () => {
  const [old, again] = [await databaseAt(revision(1)), await databaseAt(revision(1))];
  expect([again.chainHash === old.chainHash, again]).toEqual([true, old]);
  await world.service.deleteDatabase({ databaseName: 'shop' });
  await world.database('shop', 1);
  const current = await databaseAt(revision(1));
  expect(current.databaseId).not.toBe(old.databaseId);
  expect(current.chainHash).not.toEqual(old.chainHash);
});

it('a read at a number (V5) waits for a revision that this node is about to apply', async () => {
  const read = databaseAt(revision(3));
  expect(await soFar(read)).toBe('pending');
  await world.transact('shop', { events: [{ id: 'late' }] });
  expect(await read).toMatchObject({ revision: 3 });
  expect(world.timers.count).toBe(0);
});

it('a read at a number (V5) asks the leader after its wait, and answers RevisionNotFound beyond the database', async () => {
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

const cached = { databaseName: 'shop', at: 'cached', signal: NEVER } as const;

it('what a node has shown that relays the read (TM5) is awaited, if it was of the instance that the name means here', async () => {
  const { databaseId } = await databaseAt('cached');
  const read = world.service.databaseAt({ ...cached, shown: { databaseId, revision: toRevision(3) } });
  expect(await soFar(read)).toBe('pending');
  await world.transact('shop');
  expect(await read).toMatchObject({ revision: 3 });
});

it('a deleted database (V6) ends what waits for it', async () => {
  const waits = [
    failureOf(databaseAt(revision(9))),
    failureOf(world.service.awaitDatabase({ databaseName: 'shop', revision: toRevision(9), signal: NEVER })),
  ];
  await settle();
  await world.service.deleteDatabase({ databaseName: 'shop' });
  const gone = { code: 'not_found', details: { reason: 'DatabaseNotFound' } };
  for (const failure of await Promise.all(waits)) expect(failure).toMatchObject(gone);
});

it('a deleted database (V6) ends a stream between two slices, also when another has its name', async () => {
  for (let n = 0; n < 20; n++) {
    await world.transact('shop', { events: [{ id: `big-${n}`, data: new Uint8Array(100_000) }] });
  }
  const { chunks } = await world.service.queryEvents({
    databaseName: 'shop',
    at: 'latest',
    query: QUERY,
    signal: NEVER,
  });
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
