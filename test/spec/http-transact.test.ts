// Goal: transactions over HTTP are committed, refused, repeated and looked up as the specification says, in both
// families. Method: a real node; each test on a database of its own.
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

  it('maps an id that is taken to the one it is stored under', async () => {
    await transact({ events: [cloudEvent('a')] });
    const { event_id_mappings } = jsonOf(
      await transact({ events: [cloudEvent('b'), cloudEvent('a')] }),
    ) as TransactionRecord;
    expect(event_id_mappings).toEqual([
      { client_event_id: 'b', stored_event_id: 'b' },
      { client_event_id: 'a', stored_event_id: 'a~2.1' },
    ]);
  });

  it('answers 404 for a missing database and 400 for a malformed name, in this order before the events', async () => {
    const bad = { events: [{}] };
    expect(errorOf(await api.post('/api/v1/db/missing', bad))).toMatchObject(NOT_FOUND);
    expect(errorOf(await api.post('/api/v1/db/No', bad))).toMatchObject(INVALID_ARGUMENT);
  });

  it.each([
    ['events that are no list', { events: 5 }, 'events'],
    ['an unknown member', { evts: [{}] }, 'evts'],
    ['conditions that are no list', { events: [cloudEvent('a')], conditions: {} }, 'conditions'],
    ['two words for the conditions', { events: [cloudEvent('a')], conditions: [], constraints: [] }, 'constraints'],
    ['an id that is no text', { events: [cloudEvent('a')], transaction_id: 7 }, 'transaction_id'],
  ])('answers 400 to %s, before it looks for database or id (decisions 4.4)', async (_what, bad, field) => {
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

  it('stores what comes beside the events (SPEC-TRANSACTION-METADATA)', async () => {
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

describe('SPEC-HTTP-COLLECTION-TRANSACT: POST /databases/{database_name}/events', () => {
  it('answers with revision and events_count', async () => {
    const answer = await api.post(`/databases/${name}/events`, { events: [cloudEvent('a'), cloudEvent('b')] });
    expect(answer.status).toBe(200);
    expect(jsonOf(answer)).toMatchObject({ revision: 1, events_count: 2, replayed: false });
    expect(answer.headers.get('x-revision')).toBe('1');
  });

  it('says of a repeat that it is one, as the other family does', async () => {
    const transaction_id = randomUUID();
    const post = (path: string): Promise<Answer> => api.post(path, { transaction_id, events: [cloudEvent('a')] });
    expect(jsonOf(await post(`/databases/${name}/events`))).toMatchObject({ revision: 1, replayed: false });
    expect(jsonOf(await post(`/databases/${name}/events`))).toMatchObject({
      revision: 1,
      events_count: 1,
      transaction_id,
      replayed: true,
      event_id_mappings: [{ client_event_id: 'a', stored_event_id: 'a' }],
    });
    expect(jsonOf(await post(`/api/v1/db/${name}`))).toMatchObject({ transaction: { revision: 1, replayed: true } });
  });
});

describe('SPEC-HTTP-R9: conditions', () => {
  const late = { max_revision: { revision: 0 } };
  const absent = { max: { selector: { equals: { stream: 'orders' } }, revision: 0 } };

  it.each(['/api/v1/db/', '/databases/'])('are taken under either word by %s', async (family) => {
    const path = `${family}${name}${family === '/databases/' ? '/events' : ''}`;
    for (const word of ['conditions', 'constraints']) {
      expect(await api.post(path, { events: [cloudEvent(word)], [word]: [] })).toMatchObject({ status: 200 });
      const refused = await api.post(path, { events: [cloudEvent(word)], [word]: [late] });
      expect(errorOf(refused)).toMatchObject(FAILED_PRECONDITION);
      expect(errorOf(refused).message).toContain(`${word}[0]`);
    }
    expect(errorOf(await api.post(path, { events: [cloudEvent('x')], conditions: [], constraints: [] }))).toMatchObject(
      INVALID_ARGUMENT,
    );
  });

  it('that are violated are all reported with what was found, and nothing is stored', async () => {
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

  it.each([
    ['typed', { type: 'min_revision', revision: 0 }],
    ['keyed', { min_revision: { revision: 0 } }],
    ['with a selector', { max: { selector: { equals: { eventType: 'none' } }, revision: 0 } }],
    ['for events without a subject', { max_revision: { selector: { equals: { subject: {} } }, revision: 0 } }],
    ['for a subject', { max: { selector: { equals: { subject: { hasValue: true, value: 's' } } }, revision: 0 } }],
    ['of a range', { revision_range: { start: 0, end: 0 } }],
  ])('in the form %s hold on an empty database', async (_form, condition) => {
    expect(await transact({ events: [cloudEvent('a')], conditions: [condition] })).toMatchObject({ status: 200 });
  });

  it('without hasValue look at events with no subject', async () => {
    await transact({ events: [cloudEvent('a', { subject: 's' })] });
    const ignored = { max: { selector: { equals: { subject: { value: 's' } } }, revision: 0 } };
    expect(await transact({ events: [cloudEvent('b', { subject: 's' })], conditions: [ignored] })).toMatchObject({
      status: 200,
    });
    const meant = { max: { selector: { equals: { subject: { hasValue: true, value: 's' } } }, revision: 0 } };
    expect(errorOf(await transact({ events: [cloudEvent('c')], conditions: [meant] }))).toMatchObject(
      FAILED_PRECONDITION,
    );
  });

  it.each([
    ['an empty one', {}],
    ['an unknown kind', { exact_revision: { revision: 1 } }],
    ['a crossed range', { revision_range: { start: 2, end: 1 } }],
    ['a negative revision', { min_revision: { revision: -1 } }],
    ['a fraction', { min_revision: { revision: 1.5 } }],
    ['a string', 'max_revision'],
  ])('that are malformed answer 400: %s', async (_what, condition) => {
    const answer = await transact({ events: [cloudEvent('a')], conditions: [condition] });
    const { details } = errorOf(answer, INVALID_ARGUMENT);
    expect(details?.field).toMatch(/^conditions\[0\]/);
  });
});

describe('SPEC-HTTP-R8: idempotence', () => {
  it('gives a repeat the recorded result, whatever its body', async () => {
    const transaction_id = randomUUID();
    const first = jsonOf(
      await transact({ transaction_id, events: [cloudEvent('a'), cloudEvent('b')] }),
    ) as TransactionRecord;
    await transact({ events: [cloudEvent('c')] });
    const repeats = [
      await transact({ transaction_id, events: [cloudEvent('a'), cloudEvent('b')] }),
      await transact({ transaction_id: transaction_id.toUpperCase(), events: [cloudEvent('z')] }),
      await transact({ transaction_id, events: [{}], conditions: [{ max_revision: { revision: 0 } }] }),
    ];
    for (const repeat of repeats) {
      expect(repeat.status).toBe(200);
      expect(jsonOf(repeat)).toEqual({ ...first, transaction: { ...first.transaction, replayed: true } });
    }
    expect(await api.latestRevision(name)).toBe(2);
  });

  it('does not record a refused attempt', async () => {
    const transaction_id = randomUUID();
    const refused = await transact({
      transaction_id,
      events: [cloudEvent('a')],
      conditions: [{ min_revision: { revision: 7 } }],
    });
    expect(errorOf(refused)).toMatchObject(FAILED_PRECONDITION);
    expect(await transact({ transaction_id, events: [cloudEvent('a')] })).toMatchObject({ status: 200 });
  });

  it.each([
    ['text', 'not-a-uuid'],
    ['empty', ''],
    ['a number', 7],
  ])('answers 400 to an id that is %s', async (_what, id) => {
    const { details } = errorOf(await transact({ transaction_id: id, events: [cloudEvent('a')] }), INVALID_ARGUMENT);
    expect(details?.field).toBe('transaction_id');
  });

  it.each(['/api/v1/db/{}', '/api/v1/db/{}/async', '/databases/{}/events'])(
    'takes no nil UUID for an id: POST %s',
    async (path) => {
      const body = { transaction_id: NIL_ID, events: [cloudEvent('a')] };
      const { message, details } = errorOf(await api.post(path.replace('{}', name), body), INVALID_ARGUMENT);
      expect(details?.field).toBe('transaction_id');
      expect(message).toContain('must not be the nil UUID');
      const inHeader = await api.post(
        path.replace('{}', name),
        { events: [cloudEvent('a')] },
        { 'x-batch-id': NIL_ID },
      );
      expect(errorOf(inHeader, INVALID_ARGUMENT).details?.field).toBe('x-batch-id');
      expect(await api.latestRevision(name)).toBe(0);
    },
  );

  it('reports a malformed id together with every other fault', async () => {
    const { details } = errorOf(await transact({ transaction_id: 'x', events: [cloudEvent('')] }), INVALID_ARGUMENT);
    const fields = [
      expect.objectContaining({ field: 'events[0].id' }),
      expect.objectContaining({ field: 'transaction_id' }),
    ];
    expect(details?.violations).toEqual(fields);
  });
});

describe('SPEC-HTTP-TRANSACTION-LOOKUP: GET /api/v1/db/{database}/transaction/{transaction_id}', () => {
  it('gives what was stored, events included', async () => {
    const transaction_id = randomUUID();
    const recorded = jsonOf(
      await transact({ transaction_id, events: [cloudEvent('a', { data: { n: 1 } })] }),
    ) as TransactionRecord;
    const answer = await api.get(`/api/v1/db/${name}/transaction/${transaction_id}`);
    const looked = jsonOf(answer) as TransactionRecord & { readonly events: readonly object[] };
    const { replayed: _replayed, ...summary } = recorded.transaction;
    expect(looked.transaction).toMatchObject(summary);
    expect(looked.event_id_mappings).toEqual(recorded.event_id_mappings);
    expect(looked.events).toEqual([expect.objectContaining({ id: 'a', revision: 1, index: 0, data: { n: 1 } })]);
    expect(answer.headers.get('x-revision')).toBe('1');
  });

  it('has one time: that of the answer, of its events and of its revision', async () => {
    const transaction_id = randomUUID();
    const answered = jsonOf(await transact({ transaction_id, events: [cloudEvent('a')] })) as TransactionRecord;
    const looked = jsonOf(await api.get(`/api/v1/db/${name}/transaction/${transaction_id}`)) as TransactionRecord;
    const { recordedtime } = jsonOf(await api.get(`/databases/${name}/events/1`)) as { readonly recordedtime: string };
    expect(recordedtime).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect([answered, looked].map(({ transaction }) => transaction.transaction_timestamp)).toEqual([
      recordedtime,
      recordedtime,
    ]);
    expect(jsonOf(await api.get(`/db/${name}/1`))).toMatchObject({ revision_timestamp: recordedtime });
  });

  it('is found by its id in either case, with the ids that its events are stored under', async () => {
    await transact({ events: [cloudEvent('a')] });
    const transaction_id = randomUUID();
    await transact({ transaction_id, events: [cloudEvent('b'), cloudEvent('a')] });
    await transact({ events: [cloudEvent('c')] });
    const answer = await api.get(`/api/v1/db/${name}/transaction/${transaction_id.toUpperCase()}`);
    expect(jsonOf(answer)).toMatchObject({
      transaction: { transaction_id, revision: 2, basis: 1, event_count: 2 },
      event_id_mappings: [
        { client_event_id: 'b', stored_event_id: 'b' },
        { client_event_id: 'a', stored_event_id: 'a~2.1' },
      ],
    });
    expect(answer.headers.get('x-revision')).toBe('3');
  });

  it('answers 404 to an unknown id and 400 to one that is none', async () => {
    expect(errorOf(await api.get(`/api/v1/db/${name}/transaction/${randomUUID()}`))).toMatchObject(NOT_FOUND);
    expect(errorOf(await api.get(`/api/v1/db/${name}/transaction/7`))).toMatchObject(INVALID_ARGUMENT);
    expect(errorOf(await api.get(`/api/v1/db/missing/transaction/${randomUUID()}`))).toMatchObject(NOT_FOUND);
  });
});
