// Goal: both route families and the variant paths are one interface: what is asked of either is done and refused alike,
// in the same words. Method: a real node; each request to every path that takes it, and the answers compared.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  jsonOf,
  type Sent,
  type TransactionRecord,
  uniqueName,
} from '../support/http-client.ts';
import { createHistory } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const history = uniqueName();
const historyId = await createHistory(api, history);

const OTHER_ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
const JSON_TYPE = { 'content-type': 'application/json' };

async function newDatabase(): Promise<string> {
  const name = uniqueName();
  await api.create(name);
  return name;
}

/** What a refusal says, with what it was read at. */
function refusal(answer: Answer): unknown {
  const scope = [answer.headers.get('x-database-id'), answer.headers.get('x-revision')];
  return { status: answer.status, body: jsonOf(answer), scope, allow: answer.headers.get('allow') };
}

/** Those that differ, each once: one, where all are alike. */
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

  it.each(WAYS)('makes one at revision 0, and leads to it', async (way) => {
    const name = uniqueName();
    const answer = await api.send(way.path(name), sent(way, name));
    expect([answer.status, answer.headers.get('x-revision')]).toEqual([201, '0']);
    const read = await api.get(`/db/${name}/0`);
    expect(answer.headers.get('x-database-id')).toBe(read.headers.get('x-database-id'));
    const place = await api.get(answer.headers.get('location') ?? '');
    expect(place.headers.get('x-database-id')).toBe(answer.headers.get('x-database-id'));
    expect([200, 307]).toContain(place.status);
  });

  it('refuses a taken name alike', async () => {
    const name = await newDatabase();
    const answers = await Promise.all(WAYS.map((way) => api.send(way.path(name), sent(way, name))));
    expect(distinct(answers.map(refusal))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status: 409 });
  });

  it.each<readonly [string, object, Record<string, string>]>([
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

describe('SPEC-HTTP-FAMILIES, SPEC-HTTP-COLLECTION-TRANSACT: transacting', () => {
  interface Receipt {
    readonly revision: number;
    readonly events_count: number;
    readonly transaction_id: string;
    readonly replayed: boolean;
    readonly event_id_mappings: TransactionRecord['event_id_mappings'];
  }

  /** What both say of a transaction that was recorded. */
  function recorded(answer: Answer): Receipt {
    const { transaction, ...rest } = jsonOf(answer) as Receipt & Partial<TransactionRecord>;
    if (transaction === undefined) return rest;
    const { revision, event_count: events_count, transaction_id, replayed } = transaction;
    return { revision, events_count, transaction_id, replayed, event_id_mappings: rest.event_id_mappings };
  }

  it.each<readonly [string, unknown, Record<string, string>]>([
    ['a transaction', { events: [cloudEvent('a'), cloudEvent('a')] }, JSON_TYPE],
    ['one with an id', { transaction_id: OTHER_ID, events: [cloudEvent('a')] }, JSON_TYPE],
    ['one with its id in the header', { events: [cloudEvent('a')] }, { ...JSON_TYPE, 'x-batch-id': OTHER_ID }],
    ['conditions', { events: [cloudEvent('a')], conditions: [{ max: { revision: 0 } }] }, JSON_TYPE],
    ['constraints', { events: [cloudEvent('a')], constraints: [{ max: { revision: 0 } }] }, JSON_TYPE],
    ['a CloudEvent', cloudEvent('a'), { 'content-type': 'application/cloudevents+json' }],
    ['CloudEvents', [cloudEvent('a'), cloudEvent('b')], { 'content-type': 'application/cloudevents-batch+json' }],
    ['camel case', { events: [cloudEvent('a')], commitMessage: 'm', lastReadRevision: 0 }, JSON_TYPE],
  ])('commits %s alike', async (_what, body, headers) => {
    const answers: unknown[] = [];
    const stored: unknown[] = [];
    for (const path of [SCOPED, COLLECTION]) {
      const name = await newDatabase();
      const answer = await api.post(path(name), body, headers);
      expect([answer.status, answer.headers.get('x-revision')]).toEqual([200, '1']);
      const { transaction_id, ...rest } = recorded(answer);
      answers.push(rest);
      const { text } = await api.get(`/api/v1/db/${name}/transaction/${transaction_id}`);
      const fixed = { [name]: 'NAME', [transaction_id]: 'ID' };
      stored.push(Object.entries(fixed).reduce((seen, [from, to]) => seen.replaceAll(from, to), timeless(text)));
    }
    expect(distinct(answers)).toHaveLength(1);
    expect(distinct(stored)).toHaveLength(1);
  });

  it('answers a repeat alike, whichever has committed it', async () => {
    const name = await newDatabase();
    const body = { transaction_id: randomUUID(), events: [cloudEvent('a')] };
    const first = recorded(await api.post(COLLECTION(name), body));
    const repeats = [await api.post(SCOPED(name), body), await api.post(COLLECTION(name), { ...body, events: [] })];
    expect(repeats.map(recorded)).toEqual(repeats.map(() => ({ ...first, replayed: true })));
    expect(await api.post(LATER(name), body)).toMatchObject({ status: 202 });
    expect(await api.latestRevision(name)).toBe(1);
  });

  const event = cloudEvent('a');

  it.each<readonly [string, unknown, number]>([
    ['no events', {}, 400],
    ['an empty list', { events: [] }, 400],
    ['events that are no list', { events: event }, 400],
    ['an unknown member', { events: [event], evnts: [] }, 400],
    ['faults in several events', { events: [{}, { ...event, type: '' }, { ...event, time: 'noon' }] }, 400],
    ['an id that is none', { transaction_id: 'x', events: [event] }, 400],
    ['the nil UUID', { transaction_id: '00000000-0000-0000-0000-000000000000', events: [event] }, 400],
    ['both words for conditions', { events: [event], conditions: [], constraints: [] }, 400],
    ['a malformed condition', { events: [event], conditions: [{ maximum: 1 }] }, 400],
    ['faults of options', { events: [event], last_read_revision: -1, principal_attributes: [] }, 400],
    ['too many events', { events: Array.from({ length: 1001 }, () => event) }, 413],
    ['too many bytes', { events: [{ ...event, data: 'x'.repeat(1_000_001) }] }, 413],
    ['no JSON', '{"events":[', 400],
    ['an array', [], 400],
    ['nothing', '', 400],
  ])('refuses %s alike, with or without waiting', async (_what, body, status) => {
    const name = await newDatabase();
    const answers = await Promise.all([SCOPED, COLLECTION, LATER].map((path) => api.post(path(name), body)));
    expect(distinct(answers.map(refusal))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status });
    const missing = await Promise.all([SCOPED, COLLECTION, LATER].map((path) => api.post(path('no-such'), body)));
    expect(distinct(missing.map(refusal))).toHaveLength(1);
    expect(await api.latestRevision(name)).toBe(0);
  });

  it('refuses what does not hold alike', async () => {
    const name = await newDatabase();
    await api.commit(name, event);
    const conditions = [
      { max: { revision: 0 } },
      { min_revision: { revision: 9 } },
      { type: 'max_revision', revision: 7 },
    ];
    const answers = [
      await api.post(SCOPED(name), { events: [event], conditions }),
      await api.post(COLLECTION(name), { events: [event], conditions }),
    ];
    expect(distinct(answers.map(refusal))).toHaveLength(1);
    expect(answers[0]).toMatchObject({ status: 409 });
  });
});

describe('SPEC-HTTP-FAMILIES, SPEC-HTTP-R4: deleting', () => {
  const WAYS = [(name: string) => `/api/v1/db/${name}`, (name: string) => `/databases/${name}`];

  it.each<readonly [string, (id: string) => string, number, number]>([
    ['by name', () => '', 204, 404],
    ['by its id', (id) => `?database_id=${id}`, 204, 404],
    ['by the id of another instance', () => `?database_id=${OTHER_ID}`, 204, 200],
    ['by an empty id', () => '?database_id=', 400, 200],
    ['by an id that is none', () => '?database_id=7', 400, 200],
    ['by two ids', (id) => `?database_id=${id}&database_id=${id}`, 400, 200],
    ['by a misspelt parameter', (id) => `?databaseId=${id}`, 400, 200],
  ])('does the same %s', async (_what, parameters, status, wanted) => {
    const outcomes: unknown[] = [];
    for (const path of WAYS) {
      const name = uniqueName();
      const id = await api.create(name);
      const answer = await api.delete(`${path(name)}${parameters(id)}`);
      const { status: after } = await api.get(`/db/${name}/0`);
      const known = { text: answer.text.replaceAll(id, 'ID'), deleted: answer.headers.get('x-database-id') === id };
      outcomes.push({ status: answer.status, ...known, after });
    }
    expect(distinct(outcomes)).toHaveLength(1);
    expect(outcomes[0]).toMatchObject({ status, after: wanted });
  });

  it('refuses what there is not alike', async () => {
    for (const name of ['no-such', 'No']) {
      expect(distinct((await Promise.all(WAYS.map((path) => api.delete(path(name))))).map(refusal))).toHaveLength(1);
    }
  });
});

describe('SPEC-HTTP-FAMILIES, SPEC-HTTP-LIST, SPEC-HTTP-COLLECTION-DATABASES: reading', () => {
  it('describes a database alike', async () => {
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
});

function timeless(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replaceAll(/"(chain_hash|database_id)":"[^"]*"/g, '$1');
}
