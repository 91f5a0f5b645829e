// Goal: a database is what the specification says, whichever interface looks at it: its fields, its name, its instance.
// Method: a real node, asked over gRPC and over HTTP; both must say the same.
import { describe, expect, it } from 'vitest';
import { type Database } from '../../proto/gen/cairn/v1/database.ts';
import { Timestamp } from '../../proto/gen/google/protobuf/timestamp.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;

/** The database at a revision, by gRPC in the words of HTTP. */
async function overGrpc(databaseName: string, revision: number): Promise<object> {
  return inJson((await client.send('fetchDatabaseAtRevision', { databaseName, revision })).database);
}

function inJson(database: Database | undefined): object {
  return {
    database: database?.name,
    database_id: database?.databaseId,
    created_at: instantOf(database?.createdAt),
    basis: database?.basis,
    revision: database?.revision,
    revision_timestamp: instantOf(database?.revisionTimestamp),
    event_count: database?.eventCount,
  };
}

function instantOf(time: Timestamp | undefined): number {
  const { seconds, nanos } = time ?? Timestamp.fromPartial({});
  return seconds * 1000 + nanos / 1e6;
}

async function overHttp(name: string, revision: number): Promise<object> {
  const { chain_hash: _, ...metadata } = jsonOf(await api.get(`/db/${name}/${revision}`)) as Record<string, unknown>;
  const instant = (key: string): number => Date.parse(String(metadata[key]));
  return { ...metadata, created_at: instant('created_at'), revision_timestamp: instant('revision_timestamp') };
}

describe('SPEC-DATABASE-FIELDS', () => {
  it('are the same over both interfaces, at every revision', async () => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    await api.commit(name, cloudEvent('a'), cloudEvent('b'));
    await client.send('transact', transaction(name, [event({ id: 'c' })]));
    const seen = await Promise.all([0, 1, 2].map((revision) => overHttp(name, revision)));
    expect(await Promise.all([0, 1, 2].map((revision) => overGrpc(name, revision)))).toEqual(seen);
    expect(seen).toMatchObject([
      { database: name, database_id: databaseId, revision: 0, basis: 0, event_count: 0 },
      { database: name, database_id: databaseId, revision: 1, basis: 0, event_count: 2 },
      { database: name, database_id: databaseId, revision: 2, basis: 1, event_count: 3 },
    ]);
  });

  it('have the time of creation from the id, and as the time of revision 0', async () => {
    const name = uniqueName();
    const databaseId = await api.create(name);
    const createdMs = Number.parseInt(databaseId.replaceAll('-', '').slice(0, 12), 16);
    expect(databaseId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const atCreation = { created_at: createdMs, revision_timestamp: createdMs };
    expect([await overHttp(name, 0), await overGrpc(name, 0)]).toMatchObject([atCreation, atCreation]);
  });
});

describe('SPEC-DATABASE-NAME', () => {
  const NAMES = ['a', '0-0', 'a'.repeat(63)];
  const NOT_NAMES = ['A', 'shöp', '-a', 'a-', 'a_b', 'a'.repeat(64)];

  it.each(NAMES)('may be %j', async (name) => {
    await api.create(name);
    expect((await client.send('fetchLatestDatabase', { databaseName: name })).database?.name).toBe(name);
  });

  // The reference model has every operation refuse such names.
  it.each(NOT_NAMES)('is refused as %j, with what it must be', async (name) => {
    const created = await api.post('/databases', { name });
    for (const answer of [created, await api.get(`/db/${encodeURIComponent(name)}/0`)]) {
      expect(errorOf(answer, INVALID_ARGUMENT).message).toMatch(/lowercase alphanumeric, with hyphens/);
    }
    for (const operation of ['createDatabase', 'fetchLatestDatabase'] as const) {
      const { code, message, fields } = await failureOf(client.call(operation, { databaseName: name }));
      expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['database_name']]);
      expect(message).toMatch(/lowercase alphanumeric, with hyphens/);
    }
  });
});

it('SPEC-DATABASE-INSTANCE is another one when a name is created anew, with nothing of the one before', async () => {
  const name = uniqueName();
  const first = await api.create(name);
  await api.commit(name, cloudEvent('a'));
  await client.send('deleteDatabase', { databaseName: name });
  const second = await api.create(name);
  expect(second).not.toBe(first);
  expect(await overHttp(name, 0)).toMatchObject({ database_id: second, revision: 0, event_count: 0 });
  expect(await overGrpc(name, 0)).toMatchObject({ database_id: second, revision: 0, event_count: 0 });
  expect(jsonOf(await api.get(`/databases/${name}/events`))).toMatchObject({ events: [] });
});
