// Databases over gRPC can be created, listed, described, awaited and deleted. Their log proves their history by hashes.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ProtoReader, parseUuid } from '#base';
import type { Database } from '../../proto/gen/cairn/v1/database.ts';
import type { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { LogBatch } from '../../proto/gen/cairn/v1/transaction.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { RawGrpc } from '../support/raw-grpc.ts';
import { sharedServer } from '../support/shared-servers.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const OTHER_ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';

const server = await sharedServer();

async function create(name: string = uniqueName()): Promise<Database> {
  const { database } = await server.client.send('createDatabase', { databaseName: name });
  if (database === undefined) throw new Error('no database came back');
  return database;
}

async function commit(name: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await server.client.send('transact', transaction(name, [event({ id: `e-${n}` })]));
  }
}

it('SPEC-GRPC-CREATE-DATABASE gives a new database at revision 0 with an id of its own', async () => {
  const name = uniqueName();
  const { message, headers, trailers } = await server.client.call('createDatabase', { databaseName: name });
  const { database } = message;
  expect(database).toMatchObject({ name, revision: 0, latestRevision: 0, basis: 0, eventCount: 0 });
  expect(database?.databaseId).toMatch(UUID_V7);
  expect(database?.revisionTimestamp).toEqual(database?.createdAt);
  expect(database?.chainHash).toEqual(sha256(Buffer.from(parseUuid(database?.databaseId ?? '') ?? [])));
  expect(headers).toMatchObject({ 'x-database-id': database?.databaseId, 'x-revision': '0' });
  expect(trailers).toMatchObject({ 'x-leader-node': expect.any(String), 'x-leader-address': expect.any(String) });
});

it.each([0, 8, 2 ** 32 - 1])('SPEC-GRPC-CREATE-DATABASE answers INVALID_ARGUMENT to %i copies', async (copies) => {
  const databaseName = uniqueName();
  const failure = await failureOf(server.client.send('createDatabase', { databaseName, copies }));
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['copies'] });
  expect(await failureOf(server.client.send('fetchLatestDatabase', { databaseName }))).toMatchObject({
    code: 'NOT_FOUND',
  });
});

it.each(['', 'x', OTHER_ID.replace('-7e5f', '-4e5f')])(
  'SPEC-GRPC-DELETE-DATABASE: never falls back to the name when database_id is %j',
  async (databaseId) => {
    const { name } = await create();
    const failure = await failureOf(server.client.send('deleteDatabase', { databaseName: name, databaseId }));
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['database_id'] });
    await server.client.send('fetchLatestDatabase', { databaseName: name });
  },
);

it('SPEC-GRPC-FETCH-CATALOG lists every database with its latest revision', async () => {
  const { name, databaseId } = await create(uniqueName('listed'));
  await commit(name, 2);
  const { databases } = await server.client.send('fetchCatalog', {});
  const wanted = { databaseId, latestRevision: 2, eventCount: 2 };
  expect(databases.find((database) => database.name === name)).toMatchObject(wanted);
  const names = databases.map((database) => database.name);
  expect(names).toEqual(names.toSorted());
});

it.each([undefined, { seconds: 0, nanos: 1_000_000_000 }, { seconds: 253_402_300_800, nanos: 0 }])(
  'SPEC-GRPC-DATABASE-AT-TIMESTAMP: is refused with INVALID_ARGUMENT for the time %j',
  async (atTimestamp) => {
    const { name } = await create();
    const failure = await failureOf(
      server.client.send('databaseEffectiveAtTimestamp', { databaseName: name, atTimestamp }),
    );
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['at_timestamp'] });
  },
);

describe('SPEC-GRPC-AWAIT-DATABASE', () => {
  it('answers as soon as the revision exists', async () => {
    const { name } = await create();
    const awaited = server.client.send('awaitDatabase', { databaseName: name, atRevision: 2 });
    await commit(name, 2);
    expect((await awaited).database?.revision).toBe(2);
    const told = (await server.client.send('awaitDatabase', { databaseName: name, atRevision: 1 })).database?.revision;
    expect(told).toBe(1);
  });

  it('ends with NOT_FOUND when the database is deleted meanwhile', async () => {
    const { name } = await create();
    const awaited = failureOf(server.client.send('awaitDatabase', { databaseName: name, atRevision: 1 }));
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined });
    expect((await awaited).code).toBe('NOT_FOUND');
  });
});

describe('SPEC-READS-MIN-REVISION', () => {
  it('applies to writes: they are refused below it, and change nothing', async () => {
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

  it('applies to a deletion, whose reply names the instance', async () => {
    const { name, databaseId } = await create();
    const deletion = { databaseName: name, databaseId: undefined };
    const { headers } = await server.client.call('deleteDatabase', deletion, { metadata: { 'x-min-revision': '0' } });
    expect(headers).toMatchObject({ 'x-database-id': databaseId });
    expect(headers).not.toHaveProperty('x-revision');
  });
});

it('SPEC-GRPC-SCAN-DATABASE-LOG is refused for a direction that does not exist', async () => {
  const { name } = await create();
  const scan = { databaseName: name, startRevision: 0, direction: 7 as Direction, limit: 0 };
  const failure = await failureOf(server.client.collect('scanDatabaseLog', scan));
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['direction'] });
});

it('SPEC-GRPC-SCAN-LOG-BATCHES lets a client prove the history by the chain of hashes', async () => {
  const { name, databaseId } = await create();
  await commit(name, 1);
  await server.client.send('transact', transaction(name, [event({ id: '2.0' }), event({ id: '2.1' })]));
  const raw = new RawGrpc(server.port);
  const request = Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]);
  const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]);
  const { body, status } = await raw.call({ path: '/cairn.v1.EventStore/ScanLogBatches', pieces: [framed] });
  await raw.close();
  expect(status).toBe(0);
  let hash = sha256(Buffer.from(parseUuid(databaseId) ?? []));
  for (const message of messagesOf(body)) {
    const bodies = bodiesOf(message);
    for (const [at, { chainHash }] of LogBatch.decode(message).transactions.entries()) {
      hash = sha256(hash, bodies[at] ?? Buffer.alloc(0));
      expect(Buffer.from(chainHash)).toEqual(hash);
    }
  }
  const { database } = await server.client.send('fetchLatestDatabase', { databaseName: name });
  expect(database?.chainHash).toEqual(hash);
});

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function messagesOf(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    messages.push(body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1)));
  }
  return messages;
}

/** The bytes of field 15 of every LoggedTransaction, unchanged. */
function bodiesOf(logBatch: Uint8Array): readonly Uint8Array[] {
  const bodies: Uint8Array[] = [];
  const batch = new ProtoReader(logBatch);
  while (!batch.done) {
    batch.tag();
    const transactionStart = batch.lengthDelimited();
    const logged = new ProtoReader(logBatch, transactionStart, batch.at);
    while (!logged.done) {
      const tag = logged.tag();
      const start = logged.at;
      logged.skipField(tag);
      if (tag !== 0x7a) continue;
      const inner = new ProtoReader(logBatch, start, logged.at);
      const bodyStart = inner.lengthDelimited();
      bodies.push(logBatch.subarray(bodyStart, inner.at));
    }
  }
  return bodies;
}
