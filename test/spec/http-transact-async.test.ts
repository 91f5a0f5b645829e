// Goal: transactions over HTTP that are answered before they are decided, and those that a header names, are kept and
// found as the specification says. Method: a real node; each test on a database of its own.
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  errorOf,
  INVALID_ARGUMENT,
  jsonOf,
  NOT_FOUND,
  RESOURCE_EXHAUSTED,
  type TransactionRecord,
  uniqueName,
} from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';

const { api } = await startHttpNode();
let name: string;
let databaseId: string;

beforeEach(async () => {
  name = uniqueName();
  databaseId = await api.create(name);
});

/** Ids are scoped to a database, and every test has its own. */
const ID = '3f2c9b1e-7d44-4b0a-9a55-0d9be1f2a0aa';

describe('SPEC-HTTP-TRANSACT-ASYNC: POST /api/v1/db/{database}/async', () => {
  const later = (body: unknown): Promise<Answer> => api.post(`/api/v1/db/${name}/async`, body);

  /** What the answer points to, as soon as it is there. */
  async function found(accepted: Answer): Promise<Answer> {
    for (;;) {
      const answer = await api.get(accepted.headers.get('location') ?? '');
      if (answer.status === 200) return answer;
    }
  }

  it('answers 202 with where the transaction will be found', async () => {
    const answer = await later({ transaction_id: ID, events: [cloudEvent('a')] });
    expect(answer.status).toBe(202);
    expect(jsonOf(answer)).toEqual({
      transaction: { database: name, database_id: databaseId, transaction_id: ID },
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/db/${name}/transaction/${ID}`);
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    expect(jsonOf(await found(answer))).toMatchObject({ transaction: { revision: 1, origin: 'HttpTransaction' } });
  });

  it('mints an id where none is given, and commits an id once', async () => {
    const first = await later({ events: [cloudEvent('a')] });
    const minted = jsonOf(first) as Pick<TransactionRecord, 'transaction'>;
    expect(minted.transaction.transaction_id).toMatch(/^[0-9a-f-]{36}$/);
    const answers = await Promise.all([1, 2, 3].map(() => later({ transaction_id: ID, events: [cloudEvent('b')] })));
    for (const answer of [first, ...answers]) await found(answer);
    expect(await api.latestRevision(name)).toBe(2);
    // A repeat that could not be committed is answered by the recorded result, as everywhere.
    expect(await later({ transaction_id: ID, events: [] })).toMatchObject({ status: 202 });
  });

  it('refuses at once what cannot be committed whatever the database holds', async () => {
    const tooMany = Array.from({ length: 1_001 }, (_, n) => cloudEvent(`e${n}`));
    expect(errorOf(await later({ events: [] }))).toMatchObject(INVALID_ARGUMENT);
    expect(errorOf(await api.post('/api/v1/db/no-such/async', { events: [cloudEvent('a')] }))).toMatchObject(NOT_FOUND);
    expect(errorOf(await later({ events: tooMany }))).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it('does not say whether conditions hold; the look-up does', async () => {
    const conditions = [{ min_revision: { revision: 7 } }];
    const answer = await later({ transaction_id: ID, conditions, events: [cloudEvent('a')] });
    expect(answer.status).toBe(202);
    // What is committed later in the same database comes when the first is decided: it would be recorded by now.
    const behind = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('b')] });
    expect([behind.status, behind.headers.get('x-revision')]).toEqual([200, '1']);
    errorOf(await api.get(answer.headers.get('location') ?? ''), NOT_FOUND);
  });
});

describe('SPEC-HTTP-R8: x-batch-id', () => {
  it.each(['/api/v1/db/{}', '/databases/{}/events'])('is the transaction_id of POST %s', async (path) => {
    const send = (): Promise<Answer> =>
      api.post(path.replace('{}', name), cloudEvent('a'), {
        'x-batch-id': ID.toUpperCase(),
        'content-type': 'application/cloudevents+json',
      });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await api.latestRevision(name)).toBe(1);
    expect(first.text).toContain(ID);
  });

  it('must be the id of the body where both are given, and a UUID', async () => {
    const body = { transaction_id: ID, events: [cloudEvent('a')] };
    const path = `/api/v1/db/${name}`;
    expect((await api.post(path, body, { 'x-batch-id': ID })).status).toBe(200);
    // A recorded result is answered whatever else the request says, but not under one of two ids.
    for (const [inBody, inHeader] of [
      [randomUUID(), ID],
      [ID, randomUUID()],
      [ID, '7'],
      [7, ID],
    ] as const) {
      const answer = await api.post(path, { ...body, transaction_id: inBody }, { 'x-batch-id': inHeader });
      const { details } = errorOf(answer, INVALID_ARGUMENT);
      expect(details?.violations?.map(({ field }) => field)).toContain('x-batch-id');
    }
    const bare = { events: [cloudEvent('b')] };
    expect(errorOf(await api.post(path, bare, { 'x-batch-id': '7' }), INVALID_ARGUMENT).details?.field).toBe(
      'x-batch-id',
    );
    expect(await api.latestRevision(name)).toBe(1);
  });

  it('is refused together with everything else that is wrong', async () => {
    const body = {
      transaction_id: 'zz',
      events: [{ ...cloudEvent('a'), type: '' }],
      conditions: [{}],
      commit_message: 5,
    };
    const { details } = errorOf(await api.post(`/api/v1/db/${name}`, body, { 'x-batch-id': 'foo' }), INVALID_ARGUMENT);
    expect(details?.violations?.map(({ field }) => field).toSorted()).toEqual([
      'commit_message',
      'conditions[0]',
      'events[0].type',
      'transaction_id',
      'x-batch-id',
      'x-batch-id',
    ]);
  });
});
