// Databases over HTTP, and the rules for their fields, names and instances over both interfaces.
import { describe, expect, it } from 'vitest';
import { failureOf } from '../support/grpc-client.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;
const name = uniqueName();
const databaseId = await api.create(name);
await api.commit(name, cloudEvent('1'));

describe('SPEC-HTTP-CREATE-DATABASE: POST /api/v1/db', () => {
  it('answers 201 with the metadata of a database at revision 0', async () => {
    const database = uniqueName();
    const answer = await api.post('/api/v1/db', { database_name: database });
    expect(answer.status).toBe(201);
    const metadata = jsonOf(answer) as Readonly<Record<string, unknown>>;
    expect(metadata).toMatchObject({ database, basis: 0, revision: 0, event_count: 0 });
    expect(metadata['revision_timestamp']).toBe(metadata['created_at']);
    expect(answer.headers.get('x-database-id')).toBe(metadata['database_id']);
    expect(answer.headers.get('x-revision')).toBe('0');
    expect(answer.headers.get('location')).toBe(`/db/${database}/latest`);
  });

  it.each([
    ['both names', { database_name: 'shop', name: 'shop' }],
    ['no JSON', '{"database_name":'],
    ['nothing', ''],
  ])('answers 400 to a body with %s', async (_what, body) => {
    expect(errorOf(await api.post('/api/v1/db', body))).toMatchObject(INVALID_ARGUMENT);
  });
});

it('SPEC-HTTP-READ-DATABASE: GET /db/{database}/{revision} answers 400 to an invalid revision, and quotes it', async () => {
  for (const word of ['newest', 'state-change', 'Latest', '7x', '-1', '1.5', '1e3', '18446744073709551616']) {
    const { message } = errorOf(await api.get(`/db/${name}/${word}`), INVALID_ARGUMENT);
    expect(message.replaceAll(/"/g, '')).toContain(`found ${word}`);
  }
});

describe.each(['latest', 'cached'])('SPEC-HTTP-R1: %s', (word) => {
  it.each(['?since=0', '/streams?prefix=a%20b&limit=5', '/subjects', '/event-types'])(
    'redirects to the number, with its parameters, not to be stored (TH3): %s',
    async (below) => {
      const { status, headers } = await api.get(`/db/${name}/${word}${below}`);
      expect([status, headers.get('location')]).toEqual([307, `/db/${name}/1${below}`]);
      expect(headers.get('cache-control')).toBe('no-store');
      expect([headers.get('x-database-id'), headers.get('x-revision')]).toEqual([databaseId, '1']);
      expect(await api.get(headers.get('location') ?? '')).toMatchObject({ status: 200 });
    },
  );

  it.each(['events', 'streams/orders', 'events/orders/1', 'events/1'])(
    'answers 400 for %s, which takes only a number',
    async (below) => {
      const { message } = errorOf(await api.get(`/db/${name}/${word}/${below}`), INVALID_ARGUMENT);
      expect(message).toContain(`GET /db/${name}/${word}`);
    },
  );
});

it('SPEC-HTTP-R1: a listing without a revision answers 400, also when the database is missing', async () => {
  for (const listing of ['state-changes', 'state-views', 'events', 'streams', 'subjects', 'event-types']) {
    const message = `The request is malformed: revision is missing: a number, latest or cached must stand before "${listing}"`;
    for (const database of [name, 'missing']) {
      const { message: said, details } = errorOf(await api.get(`/db/${database}/${listing}`), INVALID_ARGUMENT);
      expect([said, details?.field]).toEqual([message, 'revision']);
    }
  }
});

it.each([
  ['application/json', (id: string) => `{"database_id":"${id}"}`],
  ['application/json', () => '"x"'],
  ['text/plain', () => 'x'],
] as const)('SPEC-HTTP-R4: a deletion with a body of %s answers 400, and deletes nothing', async (type, bodyOf) => {
  const sent = { method: 'DELETE', headers: { 'content-type': type }, body: bodyOf(databaseId) };
  errorOf(await api.send(`/api/v1/db/${name}`, sent), INVALID_ARGUMENT);
  expect(await api.get(`/databases/${name}`)).toMatchObject({ status: 200 });
});

it('SPEC-HTTP-R3: asOfTransactionTime and asOfEffectiveTime are no parameters', async () => {
  for (const parameter of ['asOfTransactionTime', 'asOfEffectiveTime']) {
    const answer = await api.get(`/db/${name}/0?${parameter}=2000-01-01T00:00:00Z`);
    expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe(parameter);
  }
});

it('SPEC-DATABASE-FIELDS have the time of creation from the id, which is also the time of revision 0', async () => {
  const own = uniqueName();
  const id = await api.create(own);
  const createdMs = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const { created_at, revision_timestamp } = jsonOf(await api.get(`/db/${own}/0`)) as Record<string, string>;
  expect([created_at, revision_timestamp].map((time) => Date.parse(time ?? ''))).toEqual([createdMs, createdMs]);
});

describe('SPEC-DATABASE-NAME', () => {
  const NOT_NAMES = ['A', 'shöp', '-a', 'a-', 'a_b', 'a'.repeat(64)];

  it.each(['a', '0-0', 'a'.repeat(63)])('may be %j', async (own) => {
    await api.create(own);
    expect((await client.send('fetchLatestDatabase', { databaseName: own })).database?.name).toBe(own);
  });

  // The reference model checks that every operation refuses such names.
  it.each(NOT_NAMES)('is refused as %j, with the rule for names (V1)', async (own) => {
    const created = await api.post('/databases', { name: own });
    for (const answer of [created, await api.get(`/db/${encodeURIComponent(own)}/0`)]) {
      expect(errorOf(answer, INVALID_ARGUMENT).message).toMatch(/lowercase alphanumeric, with hyphens/);
    }
    for (const operation of ['createDatabase', 'fetchLatestDatabase'] as const) {
      const { code, message, fields } = await failureOf(client.call(operation, { databaseName: own }));
      expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['database_name']]);
      expect(message).toMatch(/lowercase alphanumeric, with hyphens/);
    }
  });
});

it('SPEC-DATABASE-INSTANCE is new and empty when a database is re-created under its name', async () => {
  const own = uniqueName();
  const first = await api.create(own);
  await api.commit(own, cloudEvent('a'));
  await client.send('deleteDatabase', { databaseName: own });
  const second = await api.create(own);
  expect(second).not.toBe(first);
  expect(jsonOf(await api.get(`/db/${own}/0`))).toMatchObject({ database_id: second, revision: 0, event_count: 0 });
  expect(jsonOf(await api.get(`/databases/${own}/events`))).toMatchObject({ events: [] });
});
