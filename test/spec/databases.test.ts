// Fields, names and instances of databases; the reference model compares the fields over every interface.
import { describe, expect, it } from 'vitest';
import { failureOf } from '../support/grpc-client.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;

it('SPEC-DATABASE-FIELDS have the time of creation from the id, and as the time of revision 0', async () => {
  const name = uniqueName();
  const databaseId = await api.create(name);
  const createdMs = Number.parseInt(databaseId.replaceAll('-', '').slice(0, 12), 16);
  expect(databaseId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  const { created_at, revision_timestamp } = jsonOf(await api.get(`/db/${name}/0`)) as Record<string, string>;
  expect([created_at, revision_timestamp].map((time) => Date.parse(time ?? ''))).toEqual([createdMs, createdMs]);
});

describe('SPEC-DATABASE-NAME', () => {
  const NAMES = ['a', '0-0', 'a'.repeat(63)];
  const NOT_NAMES = ['A', 'shöp', '-a', 'a-', 'a_b', 'a'.repeat(64)];

  it.each(NAMES)('may be %j', async (name) => {
    await api.create(name);
    expect((await client.send('fetchLatestDatabase', { databaseName: name })).database?.name).toBe(name);
  });

  // The reference model has every operation refuse such names.
  it.each(NOT_NAMES)('is refused as %j, with what it must be (V1)', async (name) => {
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
  expect(jsonOf(await api.get(`/db/${name}/0`))).toMatchObject({ database_id: second, revision: 0, event_count: 0 });
  expect(jsonOf(await api.get(`/databases/${name}/events`))).toMatchObject({ events: [] });
});
