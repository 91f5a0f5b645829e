// Both route families and the variant paths accept and refuse the same requests with the same answers.
import { describe, expect, it } from 'vitest';
import { type Answer, cloudEvent, jsonOf, type Sent, uniqueName } from '../support/http-client.ts';
import { createHistory } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const history = uniqueName();
const historyId = await createHistory(api, history);

const JSON_TYPE = { 'content-type': 'application/json' };

function refusal(answer: Answer): unknown {
  const scope = [answer.headers.get('x-database-id'), answer.headers.get('x-revision')];
  return { status: answer.status, body: jsonOf(answer), scope, allow: answer.headers.get('allow') };
}

function distinct(answers: readonly unknown[]): readonly string[] {
  return [...new Set(answers.map((answer) => JSON.stringify(answer)))];
}

describe('SPEC-HTTP-FAMILIES, SPEC-HTTP-VARIANT-PATHS: creating a database', () => {
  interface Way {
    readonly path: (name: string) => string;
    readonly body: (name: string) => object | undefined;
  }
  const WAYS: readonly Way[] = [
    { path: () => '/api/v1/db', body: (name) => ({ database_name: name }) },
    { path: () => '/api/v1/db', body: (name) => ({ name }) },
    { path: () => '/databases', body: (name) => ({ name }) },
    { path: () => '/databases', body: (name) => ({ database_name: name }) },
    { path: (name) => `/api/v1/databases/${name}`, body: () => undefined },
    { path: (name) => `/api/v1/databases/${name}`, body: (name) => ({ name }) },
  ];

  function sent({ body }: Way, name: string, more: object = {}): Sent {
    const own = body(name);
    const isBare = own === undefined && Object.keys(more).length === 0;
    return isBare ? { method: 'POST' } : { method: 'POST', body: JSON.stringify({ ...own, ...more }) };
  }

  it.each(WAYS)('creates one at revision 0, and links to it', async (way) => {
    const name = uniqueName();
    const answer = await api.send(way.path(name), sent(way, name));
    expect([answer.status, answer.headers.get('x-revision')]).toEqual([201, '0']);
    const read = await api.get(`/db/${name}/0`);
    expect(answer.headers.get('x-database-id')).toBe(read.headers.get('x-database-id'));
    const place = await api.get(answer.headers.get('location') ?? '');
    expect(place.headers.get('x-database-id')).toBe(answer.headers.get('x-database-id'));
    expect([200, 307]).toContain(place.status);
  });

  it.each(WAYS)('accepts a number of copies', async (way) => {
    const name = uniqueName();
    expect((await api.send(way.path(name), sent(way, name, { copies: 5 }))).status).toBe(201);
  });

  it.each<readonly [string, object, Record<string, string>]>([
    ['no copies', { copies: 0 }, JSON_TYPE],
    ['more than seven copies', { copies: 8 }, JSON_TYPE],
    ['an unknown member', { colour: 'red' }, JSON_TYPE],
    ['another media type', {}, { 'content-type': 'text/plain' }],
    ['a content encoding', {}, { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['another charset', {}, { 'content-type': 'application/json; charset=latin1' }],
  ])('refuses %s alike, and makes nothing', async (_what, more, headers) => {
    const name = uniqueName();
    const answers = await Promise.all(
      WAYS.map((way) =>
        api.send(way.path(name), { method: 'POST', headers, body: JSON.stringify({ ...way.body(name), ...more }) }),
      ),
    );
    expect(distinct(answers.map(refusal))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status: 400 });
    expect(await api.get(`/databases/${name}`)).toMatchObject({ status: 404 });
  });
});

const SCOPED = (name: string): string => `/api/v1/db/${name}`;
const COLLECTION = (name: string): string => `/databases/${name}/events`;
const LATER = (name: string): string => `/api/v1/db/${name}/async`;

const event = cloudEvent('a');

it.each<readonly [string, unknown, number]>([
  ['no events', {}, 400],
  ['an unknown member', { events: [event], evnts: [] }, 400],
  ['faults in several events', { events: [{}, { ...event, type: '' }, { ...event, time: 'noon' }] }, 400],
  ['an id that is none', { transaction_id: 'x', events: [event] }, 400],
  ['faults of options', { events: [event], last_read_revision: -1, principal_attributes: [] }, 400],
  ['too many events', { events: Array.from({ length: 1001 }, () => event) }, 413],
  ['too many bytes', { events: [{ ...event, data: 'x'.repeat(1_000_001) }] }, 413],
  ['no JSON', '{"events":[', 400],
])(
  'SPEC-HTTP-FAMILIES, SPEC-HTTP-COLLECTION-TRANSACT: transacting refuses %s alike, with or without waiting',
  async (_what, body, status) => {
    const name = await api.created();
    const answers = await Promise.all([SCOPED, COLLECTION, LATER].map((path) => api.post(path(name), body)));
    expect(distinct(answers.map(refusal))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status });
    const missing = await Promise.all([SCOPED, COLLECTION, LATER].map((path) => api.post(path('no-such'), body)));
    expect(distinct(missing.map(refusal))).toHaveLength(1);
    expect(await api.latestRevision(name)).toBe(0);
  },
);

it('SPEC-HTTP-FAMILIES, SPEC-HTTP-LIST, SPEC-HTTP-COLLECTION-DATABASES: reading describes a database alike', async () => {
  const scoped = jsonOf(await api.get(`/db/${history}/5`)) as Record<string, unknown>;
  const single = jsonOf(await api.get(`/databases/${history}`)) as Record<string, unknown>;
  const { databases } = jsonOf(await api.get('/databases')) as { readonly databases: readonly (typeof single)[] };
  const { state_views: _views, state_changes: _changes, ...listed } = single;
  expect(databases.find(({ name }) => name === history)).toEqual(listed);
  expect(listed).toEqual({
    name: scoped['database'],
    database_id: historyId,
    created_at: scoped['created_at'],
    latest_revision: scoped['revision'],
    event_count: scoped['event_count'],
  });
  const { databases: names } = jsonOf(await api.get('/')) as { readonly databases: readonly string[] };
  expect(databases.map(({ name }) => name)).toEqual(names);
  expect(names).toEqual(names.toSorted());
});
