// Goal: databases over gRPC are created, listed, described and deleted as the specification says.
// Method: a real node; each test on names of its own.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseUuid } from '#base';
import type { Database } from '../../src/transport/grpc/gen/cairn/v1/database.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { sharedServer } from '../support/shared-servers.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const OTHER_ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';

const server = await sharedServer();

async function create(name: string = uniqueName()): Promise<Database> {
  const { database } = await server.client.send('createDatabase', { databaseName: name });
  if (database === undefined) throw new Error('no database came back');
  return database;
}

/** Commits so many transactions of one event. */
async function commit(name: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await server.client.send('transact', transaction(name, [event({ id: `e-${n}` })]));
  }
}

describe('SPEC-GRPC-CREATE-DATABASE', () => {
  it('gives a new database at revision 0 with an id of its own', async () => {
    const name = uniqueName();
    const { message, headers, trailers } = await server.client.call('createDatabase', { databaseName: name });
    const { database } = message;
    expect(database).toMatchObject({ name, revision: 0, latestRevision: 0, basis: 0, eventCount: 0 });
    expect(database?.databaseId).toMatch(UUID_V7);
    expect(database?.revisionTimestamp).toEqual(database?.createdAt);
    const id = Buffer.from(parseUuid(database?.databaseId ?? '') ?? []);
    expect(database?.chainHash).toEqual(createHash('sha256').update(id).digest());
    expect(headers).toMatchObject({ 'x-database-id': database?.databaseId, 'x-revision': '0' });
    expect(trailers).toMatchObject({ 'x-leader-node': expect.any(String), 'x-leader-address': expect.any(String) });
  });

  it('takes created_at from the database_id', async () => {
    const { createdAt, databaseId } = await create();
    const unixMs = Number.parseInt(databaseId.replaceAll('-', '').slice(0, 12), 16);
    expect((createdAt?.seconds ?? 0) * 1000 + (createdAt?.nanos ?? 0) / 1_000_000).toBe(unixMs);
  });

  it('is refused with ALREADY_EXISTS when the name is taken', async () => {
    const { name } = await create();
    const failure = await failureOf(server.client.send('createDatabase', { databaseName: name }));
    expect(failure).toMatchObject({ code: 'ALREADY_EXISTS', info: { reason: 'already_exists', domain: 'cairn.dev' } });
  });

  it.each(['', 'Shop', 'a b', '-a', 'a-', 'a_b', 'ä', 'a'.repeat(64), 'a/b', '..', 'a\u0000'])(
    'is refused with INVALID_ARGUMENT for the name %j',
    async (databaseName) => {
      const failure = await failureOf(server.client.send('createDatabase', { databaseName }));
      expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['database_name'] });
      expect(failure.message).toContain('lowercase alphanumeric');
    },
  );

  it.each(['a', '0', 'a-b', 'a--b', 'a'.repeat(63)])('accepts the name %j', async (databaseName) => {
    const { database } = await server.client.send('createDatabase', { databaseName });
    expect(database?.name).toBe(databaseName);
    await server.client.send('deleteDatabase', { databaseName, databaseId: undefined });
  });
});

describe('SPEC-GRPC-DELETE-DATABASE', () => {
  it('removes the instance that the name means', async () => {
    const { name } = await create();
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined });
    const failure = await failureOf(server.client.send('fetchLatestDatabase', { databaseName: name }));
    expect(failure).toMatchObject({ code: 'NOT_FOUND', info: { reason: 'not_found' } });
  });

  it('is refused with NOT_FOUND when there is none', async () => {
    const failure = await failureOf(
      server.client.send('deleteDatabase', { databaseName: uniqueName(), databaseId: undefined }),
    );
    expect(failure.code).toBe('NOT_FOUND');
  });

  it('removes the named instance, and succeeds without deleting anything when the name means another or none', async () => {
    const { name, databaseId } = await create();
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: OTHER_ID });
    expect((await server.client.send('fetchLatestDatabase', { databaseName: name })).database?.databaseId).toBe(
      databaseId,
    );
    await server.client.send('deleteDatabase', { databaseName: name, databaseId });
    expect((await failureOf(server.client.send('fetchLatestDatabase', { databaseName: name }))).code).toBe('NOT_FOUND');
    await server.client.send('deleteDatabase', { databaseName: name, databaseId });
  });

  it.each(['', 'x', OTHER_ID.replace('-7e5f', '-4e5f')])(
    'never falls back to the name when database_id is %j',
    async (databaseId) => {
      const { name } = await create();
      const failure = await failureOf(server.client.send('deleteDatabase', { databaseName: name, databaseId }));
      expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['database_id'] });
      await server.client.send('fetchLatestDatabase', { databaseName: name });
    },
  );

  it('leaves nothing of the old instance to a new one of the same name', async () => {
    const { name, databaseId } = await create();
    await commit(name, 2);
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined });
    const again = await create(name);
    expect(again.databaseId).not.toBe(databaseId);
    expect(again.latestRevision).toBe(0);
    const { messages } = await server.client.collect('queryEvents', {
      databaseName: name,
      query: undefined,
      atRevision: undefined,
    });
    expect(messages).toEqual([]);
    await commit(name, 1);
    expect((await server.client.send('fetchLatestDatabase', { databaseName: name })).database?.revision).toBe(1);
  });
});

describe('SPEC-GRPC-FETCH-CATALOG', () => {
  it('lists every database with its latest revision', async () => {
    const { name, databaseId } = await create(uniqueName('listed'));
    await commit(name, 2);
    const { databases } = await server.client.send('fetchCatalog', {});
    expect(databases.find((database) => database.name === name)).toMatchObject({
      databaseId,
      latestRevision: 2,
      eventCount: 2,
    });
    const names = databases.map((database) => database.name);
    expect(names).toEqual(names.toSorted());
  });
});

describe('SPEC-GRPC-FETCH-DATABASE', () => {
  it('describes the latest revision, and every earlier one as it was', async () => {
    const { name, databaseId } = await create();
    await commit(name, 3);
    const latest = await server.client.call('fetchLatestDatabase', { databaseName: name });
    expect(latest.message.database).toMatchObject({
      revision: 3,
      basis: 2,
      eventCount: 3,
      latestRevision: 3,
      databaseId,
    });
    expect(latest.headers).toMatchObject({ 'x-database-id': databaseId, 'x-revision': '3' });
    for (const revision of [0, 1, 2]) {
      const { message, headers } = await server.client.call('fetchDatabaseAtRevision', {
        databaseName: name,
        revision,
      });
      expect(message.database).toMatchObject({ revision, basis: Math.max(0, revision - 1), eventCount: revision });
      expect(headers['x-revision']).toBe(String(revision));
    }
  });

  it('answers NOT_FOUND with the reason RevisionNotFound beyond the latest', async () => {
    const { name } = await create();
    const failure = await failureOf(server.client.send('fetchDatabaseAtRevision', { databaseName: name, revision: 1 }));
    expect(failure).toMatchObject({
      code: 'NOT_FOUND',
      info: { reason: 'not_found', metadata: { reason: 'RevisionNotFound' } },
    });
    expect(failure.message).toContain('its latest is 0');
  });

  it('judges the name before it looks for the database', async () => {
    const failure = await failureOf(server.client.send('fetchDatabaseAtRevision', { databaseName: 'A', revision: 1 }));
    expect(failure.code).toBe('INVALID_ARGUMENT');
  });
});

describe('SPEC-GRPC-DATABASE-AT-TIMESTAMP', () => {
  it('describes the revision that was the latest at a time', async () => {
    const { name, createdAt } = await create();
    const times = [createdAt];
    for (let n = 0; n < 3; n++) {
      await commit(name, 1);
      times.push((await server.client.send('fetchLatestDatabase', { databaseName: name })).database?.revisionTimestamp);
    }
    const far = { seconds: 253_402_300_799, nanos: 0 };
    const { database } = await server.client.send('databaseEffectiveAtTimestamp', {
      databaseName: name,
      atTimestamp: far,
    });
    expect(database?.revision).toBe(3);
    for (const atTimestamp of times) {
      const found = await server.client.send('databaseEffectiveAtTimestamp', { databaseName: name, atTimestamp });
      const ms = (time: typeof createdAt): number => (time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
      const expected = times.findLastIndex((time) => ms(time) <= ms(atTimestamp));
      expect(found.database?.revision).toBe(expected);
    }
  });

  it('answers NOT_FOUND before the database was created', async () => {
    const { name } = await create();
    const atTimestamp = { seconds: 1, nanos: 0 };
    const failure = await failureOf(
      server.client.send('databaseEffectiveAtTimestamp', { databaseName: name, atTimestamp }),
    );
    expect(failure).toMatchObject({ code: 'NOT_FOUND', info: { metadata: { reason: 'RevisionNotFound' } } });
  });

  it.each([undefined, { seconds: 0, nanos: 1_000_000_000 }, { seconds: 253_402_300_800, nanos: 0 }])(
    'is refused with INVALID_ARGUMENT for the time %j',
    async (atTimestamp) => {
      const { name } = await create();
      const failure = await failureOf(
        server.client.send('databaseEffectiveAtTimestamp', { databaseName: name, atTimestamp }),
      );
      expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['at_timestamp'] });
    },
  );
});

describe('SPEC-GRPC-AWAIT-DATABASE', () => {
  it('answers as soon as the revision exists', async () => {
    const { name } = await create();
    const awaited = server.client.send('awaitDatabase', { databaseName: name, atRevision: 2 });
    await commit(name, 2);
    expect((await awaited).database?.revision).toBe(2);
    expect((await server.client.send('awaitDatabase', { databaseName: name, atRevision: 1 })).database?.revision).toBe(
      1,
    );
  });

  it('ends at the deadline of the call', async () => {
    const { name } = await create();
    const failure = await failureOf(
      server.client.send('awaitDatabase', { databaseName: name, atRevision: 1 }, { deadlineMs: 100 }),
    );
    expect(failure.code).toBe('DEADLINE_EXCEEDED');
  });

  it('ends with NOT_FOUND when the database is deleted meanwhile', async () => {
    const { name } = await create();
    const awaited = failureOf(server.client.send('awaitDatabase', { databaseName: name, atRevision: 1 }));
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined });
    expect((await awaited).code).toBe('NOT_FOUND');
  });
});

describe('SPEC-READS-MIN-REVISION', () => {
  it('answers at or above x-min-revision only', async () => {
    const { name } = await create();
    await commit(name, 1);
    const reached = await server.client.call(
      'fetchLatestDatabase',
      { databaseName: name },
      { metadata: { 'x-min-revision': '1' } },
    );
    expect(reached.message.database?.revision).toBe(1);
    const failure = await failureOf(
      server.client.send('fetchLatestDatabase', { databaseName: name }, { metadata: { 'x-min-revision': '2' } }),
    );
    expect(failure).toMatchObject({ code: 'NOT_FOUND', info: { metadata: { reason: 'RevisionNotFound' } } });
  });

  it('holds for writes: below it they are refused, and nothing is changed', async () => {
    const { name, databaseId } = await create();
    const beyond = { metadata: { 'x-min-revision': '1' } };
    const notFound = { code: 'NOT_FOUND', info: { metadata: { reason: 'RevisionNotFound' } } };
    const write = transaction(name, [event()]);
    expect(await failureOf(server.client.send('transact', write, beyond))).toMatchObject(notFound);
    for (const id of [undefined, databaseId]) {
      const deletion = { databaseName: name, databaseId: id };
      expect(await failureOf(server.client.send('deleteDatabase', deletion, beyond))).toMatchObject(notFound);
    }
    const { database } = await server.client.send('fetchLatestDatabase', { databaseName: name });
    expect(database).toMatchObject({ databaseId, revision: 0 });
    await commit(name, 1);
    expect((await server.client.send('transact', write, beyond)).revision).toBe(2);
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined }, beyond);
  });

  it('is refused with the instance, and the revision that it has', async () => {
    const { name, databaseId } = await create();
    const read = server.client.send('fetchDatabaseAtRevision', { databaseName: name, revision: 3 });
    expect((await failureOf(read)).trailers).toMatchObject({ 'x-database-id': databaseId, 'x-revision': '0' });
  });

  it('is kept by a deletion, whose reply names the instance', async () => {
    const { name, databaseId } = await create();
    const deletion = { databaseName: name, databaseId: undefined };
    const { headers } = await server.client.call('deleteDatabase', deletion, { metadata: { 'x-min-revision': '0' } });
    expect(headers).toMatchObject({ 'x-database-id': databaseId });
    expect(headers).not.toHaveProperty('x-revision');
  });

  it('asks nothing of a deletion whose instance the name does not mean', async () => {
    const { name } = await create();
    const deletion = { databaseName: name, databaseId: OTHER_ID };
    await server.client.send('deleteDatabase', deletion, { metadata: { 'x-min-revision': '9' } });
    expect((await server.client.send('fetchLatestDatabase', { databaseName: name })).database?.name).toBe(name);
  });

  it('holds for AwaitDatabase and FetchTransaction', async () => {
    const { name } = await create();
    const { transactionId } = await server.client.send('transact', transaction(name, [event()]));
    const notFound = { code: 'NOT_FOUND', info: { metadata: { reason: 'RevisionNotFound' } } };
    const awaited = { databaseName: name, atRevision: 1 };
    const fetched = { databaseName: name, transactionId };
    const [reached, beyond] = ['1', '2'].map((text) => ({ metadata: { 'x-min-revision': text } }));
    expect((await server.client.send('awaitDatabase', awaited, reached)).database?.revision).toBe(1);
    expect((await server.client.send('fetchTransaction', fetched, reached)).basis).toBe(0);
    expect(await failureOf(server.client.send('awaitDatabase', awaited, beyond))).toMatchObject(notFound);
    expect(await failureOf(server.client.send('fetchTransaction', fetched, beyond))).toMatchObject(notFound);
  });

  it.each(['', 'x', '-1', '1.5', '99999999999999999999'])(
    'is refused with INVALID_ARGUMENT when it is %j',
    async (text) => {
      const { name } = await create();
      const failure = await failureOf(
        server.client.send('fetchLatestDatabase', { databaseName: name }, { metadata: { 'x-min-revision': text } }),
      );
      expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['x-min-revision'] });
      const write = server.client.send('transact', transaction(name, [event()]), {
        metadata: { 'x-min-revision': text },
      });
      expect(await failureOf(write)).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['x-min-revision'] });
    },
  );
});
