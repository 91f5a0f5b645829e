// Transactions over HTTP: records, refusals, sizes, content types, fidelity. Each test has its own database.
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  errorOf,
  FAILED_PRECONDITION,
  INVALID_ARGUMENT,
  jsonOf,
  NOT_FOUND,
  RESOURCE_EXHAUSTED,
  type TransactionRecord,
  uniqueName,
} from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const NIL_ID = '00000000-0000-0000-0000-000000000000';

const { api } = await sharedHttpNode();
let name: string;
let databaseId: string;

beforeEach(async () => {
  name = uniqueName();
  databaseId = await api.create(name);
});

function transact(body: unknown): Promise<Answer> {
  return api.post(`/api/v1/db/${name}`, body);
}

describe('SPEC-HTTP-TRANSACT: POST /api/v1/db/{database}', () => {
  it('answers with the transaction record', async () => {
    const answer = await transact({ events: [cloudEvent('a'), cloudEvent('b')] });
    expect(answer.status).toBe(200);
    const { transaction, event_id_mappings } = jsonOf(answer) as TransactionRecord;
    expect(transaction).toMatchObject({ database: name, revision: 1, basis: 0, event_count: 2, replayed: false });
    expect(Math.abs(Date.parse(transaction.transaction_timestamp) - Date.now())).toBeLessThan(60_000);
    expect(event_id_mappings).toEqual([
      { client_event_id: 'a', stored_event_id: 'a' },
      { client_event_id: 'b', stored_event_id: 'b' },
    ]);
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    expect(answer.headers.get('x-revision')).toBe('1');
  });

  it.each([
    ['an unknown member', { evts: [{}] }, 'evts'],
    ['conditions that are no list', { events: [cloudEvent('a')], conditions: {} }, 'conditions'],
    ['two words for the conditions', { events: [cloudEvent('a')], conditions: [], constraints: [] }, 'constraints'],
    ['an id that is no text', { events: [cloudEvent('a')], transaction_id: 7 }, 'transaction_id'],
  ])('answers 400 to %s, before it looks for database or id', async (_what, bad, field) => {
    const transaction_id = randomUUID();
    await transact({ transaction_id, events: [cloudEvent('a')] });
    const answers = [
      await api.post('/databases/nodb/events', bad),
      await api.post('/api/v1/db/nodb', bad),
      await api.post(`/databases/${name}/events`, bad),
      await transact({ transaction_id, ...bad }),
    ];
    for (const answer of answers) expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe(field);
    expect(await api.latestRevision(name)).toBe(1);
  });

  it('stores the metadata beside the events (SPEC-TRANSACTION-METADATA)', async () => {
    const options = {
      last_read_revision: 0,
      principal_attributes: { user: 'ada', role: 'clerk' },
      commit_message: 'the first order',
      correlation_id: 'c-1',
      causation_id: 'c-0',
    };
    const { transaction } = jsonOf(await transact({ events: [cloudEvent('a')], ...options })) as TransactionRecord;
    const looked = await api.get(`/api/v1/db/${name}/transaction/${transaction.transaction_id}`);
    expect((jsonOf(looked) as TransactionRecord).transaction).toMatchObject({ ...options, origin: 'HttpTransaction' });
  });
});

const late = { max_revision: { revision: 0 } };
const absent = { max: { selector: { equals: { stream: 'orders' } }, revision: 0 } };

it('SPEC-HTTP-R9: all violated conditions are reported with what was found, and nothing is stored', async () => {
  await transact({ events: [cloudEvent('a')] });
  const held = { min_revision: { revision: 1 } };
  const answer = await transact({ events: [cloudEvent('b')], conditions: [late, held, absent] });
  const { details } = errorOf(answer, FAILED_PRECONDITION);
  expect(details?.constraints).toEqual([
    expect.objectContaining({ index: 0, found: 1, required: 'at most 0' }),
    expect.objectContaining({ index: 2, found: 1, required: 'at most 0' }),
  ]);
  expect(answer.headers.get('x-database-id')).toBe(databaseId);
  expect(answer.headers.get('x-revision')).toBe('1');
  expect(await api.latestRevision(name)).toBe(1);
});

it('SPEC-HTTP-R8: an id that is no UUID gets 400, in the body and in the header', async () => {
  const events = [cloudEvent('a')];
  for (const id of ['not-a-uuid', '', 7, NIL_ID]) {
    const { details } = errorOf(await transact({ transaction_id: id, events }), INVALID_ARGUMENT);
    expect(details?.field).toBe('transaction_id');
  }
  expect(errorOf(await transact({ transaction_id: NIL_ID, events })).message).toContain('must not be the nil UUID');
  const inHeader = await api.post(`/api/v1/db/${name}`, { events }, { 'x-batch-id': NIL_ID });
  expect(errorOf(inHeader, INVALID_ARGUMENT).details?.field).toBe('x-batch-id');
  expect(await api.latestRevision(name)).toBe(0);
});

it('SPEC-HTTP-TRANSACTION-LOOKUP: GET /api/v1/db/{database}/transaction/{transaction_id} answers 404 to an unknown id and 400 to a malformed one', async () => {
  expect(errorOf(await api.get(`/api/v1/db/${name}/transaction/${randomUUID()}`))).toMatchObject(NOT_FOUND);
  expect(errorOf(await api.get(`/api/v1/db/${name}/transaction/7`))).toMatchObject(INVALID_ARGUMENT);
  expect(errorOf(await api.get(`/api/v1/db/missing/transaction/${randomUUID()}`))).toMatchObject(NOT_FOUND);
});

describe('SPEC-LIMITS-1: transaction size', () => {
  it('refuses a body above the size of any transaction with 413', async () => {
    const answer = await transact(`{"events":[]${' '.repeat(8_000_000)}}`);
    expect(errorOf(answer)).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it('takes a full transaction in its longest JSON form (TH6)', async () => {
    // A text of 995,000 bytes in which six bytes spell each one.
    const data = `"${'\\u0041'.repeat(995_000)}"`;
    const body = `{"events":[{"id":"a","source":"s","specversion":"1.0","type":"t","datacontenttype":"text/plain","data":${data}}]}`;
    expect(await transact(body)).toMatchObject({ status: 200 });
  });
});

describe('SPEC-HTTP-INVALID-EVENT: malformed transactions', () => {
  it.each([5, 'x', {}])('with %j as events have one fault, and one more with a malformed id', async (events) => {
    const alone = errorOf(await transact({ events }), INVALID_ARGUMENT).details?.violations;
    expect(alone).toMatchObject([{ field: 'events', description: 'must be an array' }]);
    const both = errorOf(await transact({ events, transaction_id: 'no' }), INVALID_ARGUMENT).details?.violations;
    expect(both?.map(({ field }) => field)).toEqual(['events', 'transaction_id']);
  });

  it('report all faults of all events at once and store nothing', async () => {
    const events = [
      cloudEvent('', { subject: '' }),
      cloudEvent('b', { source: 7, time: 'yesterday' }),
      { ...cloudEvent('c'), specversion: '0.3', Upper: 'x' },
      'no event',
      cloudEvent('e', { revision: 3 }),
    ];
    const answer = await transact({ events, conditions: [{}], commit_message: 7 });
    const { details } = errorOf(answer, INVALID_ARGUMENT);
    const fields = details?.violations?.map(({ field }) => field);
    expect(fields?.toSorted()).toEqual([
      'commit_message',
      'conditions[0]',
      'events[0].id',
      'events[0].subject',
      'events[1].source',
      'events[1].time',
      'events[2].Upper',
      'events[2].specversion',
      'events[3]',
      'events[4].revision',
    ]);
    expect(await api.latestRevision(name)).toBe(0);
  });
});

describe('SPEC-HTTP-CONTENT-TYPE: bodies of transactions', () => {
  const body = JSON.stringify({ events: [cloudEvent('a')] });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/vnd.shop+json',
  ])('are JSON as %s', async (type) => {
    expect(await api.post(`/api/v1/db/${name}`, body, { 'content-type': type })).toMatchObject({ status: 200 });
  });

  it('are an array of at least one event as application/cloudevents-batch+json', async () => {
    const type = 'application/cloudevents-batch+json';
    const path = `/api/v1/db/${name}`;
    expect(errorOf(await api.post(path, cloudEvent('c'), { 'content-type': type }))).toMatchObject(INVALID_ARGUMENT);
    expect(errorOf(await api.post(path, [], { 'content-type': type }))).toMatchObject(INVALID_ARGUMENT);
    expect((await api.post(path, [cloudEvent('c'), cloudEvent('d')], { 'content-type': type })).status).toBe(200);
  });

  it('of another type are refused with the allowed types and the one found', async () => {
    const answer = await api.post(`/api/v1/db/${name}`, body, { 'content-type': 'text/xml' });
    expect(errorOf(answer, INVALID_ARGUMENT).message).toMatch(
      /Content-Type must be application\/json, application\/cloudevents\+json, application\/cloudevents-batch\+json or .* ends in \+json; found "text\/xml"$/,
    );
  });

  it.each([
    'text/plain',
    'application/json; charset=utf-16',
    'application/json;charset="utf-8',
    'application/json; charset=utf-8; charset=latin1',
    ';',
  ])('as %s answer 400', async (type) => {
    const { details } = errorOf(await api.post(`/api/v1/db/${name}`, body, { 'content-type': type }), INVALID_ARGUMENT);
    expect(details?.field).toBe('Content-Type');
  });
});

it.each([
  '9007199254740993',
  '1e400',
  '{"b":1,"a":2,"__proto__":{"x":1},"constructor":null}',
  '{"a":1,"a":2}',
  '"\\u0041\\/\\ud800"',
  'null',
])('SPEC-HTTP-FIDELITY: payloads: %s comes back as it was written (TH5)', async (data) => {
  const event = `{"specversion":"1.0","id":"a","source":"s","type":"t","data": ${data} }`;
  expect(await transact(`{"events":[${event}]}`)).toMatchObject({ status: 200 });
  const { text } = await api.get(`/databases/${name}/events/1`);
  expect(text).toContain(`"data":${data}}`);
});
