// Asynchronous transactions and `x-batch-id` over HTTP. Each test has its own database.
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/grpc-client.ts';
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

const { server, api } = await sharedHttpNode();
let name: string;
let databaseId: string;

beforeEach(async () => {
  name = uniqueName();
  databaseId = await api.create(name);
});

/** One id is enough: ids are scoped to a database, and every test has its own. */
const ID = '3f2c9b1e-7d44-4b0a-9a55-0d9be1f2a0aa';

describe('SPEC-HTTP-TRANSACT-ASYNC: POST /api/v1/db/{database}/async', () => {
  const later = (body: unknown): Promise<Answer> => api.post(`/api/v1/db/${name}/async`, body);

  async function found(accepted: Answer): Promise<Answer> {
    for (;;) {
      const answer = await api.get(accepted.headers.get('location') ?? '');
      if (answer.status === 200) return answer;
    }
  }

  it('answers 202 with the path of the transaction', async () => {
    const answer = await later({ transaction_id: ID, events: [cloudEvent('a')] });
    expect(answer.status).toBe(202);
    expect(jsonOf(answer)).toEqual({
      transaction: { database: name, database_id: databaseId, transaction_id: ID },
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/db/${name}/transaction/${ID}`);
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    expect(jsonOf(await found(answer))).toMatchObject({ transaction: { revision: 1, origin: 'HttpTransaction' } });
  });

  it('creates an id if none is given, and commits an id once', async () => {
    const first = await later({ events: [cloudEvent('a')] });
    const minted = jsonOf(first) as Pick<TransactionRecord, 'transaction'>;
    expect(minted.transaction.transaction_id).toMatch(/^[0-9a-f-]{36}$/);
    const answers = await Promise.all([1, 2, 3].map(() => later({ transaction_id: ID, events: [cloudEvent('b')] })));
    for (const answer of [first, ...answers]) await found(answer);
    expect(await api.latestRevision(name)).toBe(2);
    // A repeat gets the recorded result, also when it could not be committed itself.
    expect(await later({ transaction_id: ID, events: [] })).toMatchObject({ status: 202 });
  });

  it('refuses at once a transaction that no database could commit', async () => {
    const tooMany = Array.from({ length: 1_001 }, (_, n) => cloudEvent(`e${n}`));
    expect(errorOf(await later({ events: [] }))).toMatchObject(INVALID_ARGUMENT);
    expect(errorOf(await api.post('/api/v1/db/no-such/async', { events: [cloudEvent('a')] }))).toMatchObject(NOT_FOUND);
    expect(errorOf(await later({ events: tooMany }))).toMatchObject(RESOURCE_EXHAUSTED);
  });

  describe('a transaction that its conditions refuse', () => {
    const NEVER = [{ max_revision: { revision: 0 } }, { min_revision: { revision: 7 } }];
    const refused = { transaction_id: ID, constraints: NEVER, events: [cloudEvent('a')] };

    function outcome(headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
      return eventually(async () => {
        const answer = await api.get(`/api/v1/db/${name}/transaction/${ID}`, headers);
        expect(answer.status).not.toBe(404);
        return answer;
      });
    }

    it('is accepted, and its look-up gives the answer of a synchronous transaction', async () => {
      await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('before')] });
      expect((await later(refused)).status).toBe(202);
      const answer = await outcome();
      const told = await api.post(`/api/v1/db/${name}`, refused);
      const { details, ...failure } = errorOf(answer, FAILED_PRECONDITION);
      const { details: toldDetails, ...toldFailure } = errorOf(told, FAILED_PRECONDITION);
      expect(failure).toEqual(toldFailure);
      expect(details).toMatchObject({ ...toldDetails, transaction_id: ID, refused_revision: 1 });
      expect(JSON.stringify(details)).toMatch(/"refused_at":"\d{4}-\d\d-\d\dT[\d:.]+Z"/);
      expect(details?.constraints?.map(({ index, found: at }) => [index, at])).toEqual([
        [0, 1],
        [1, 1],
      ]);
      expect(answer.headers.get('x-database-id')).toBe(databaseId);
      expect(answer.headers.get('x-revision')).toBe('1');
    });

    it('can be repeated under the same id, and then its look-up shows the commit', async () => {
      const holds = { ...refused, constraints: [{ min_revision: { revision: 1 } }] };
      await later(holds);
      errorOf(await outcome(), FAILED_PRECONDITION);
      await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('before')] });
      await later(holds);
      const shown = await eventually(async () => {
        const answer = await outcome();
        expect(answer.status).toBe(200);
        return answer;
      });
      expect(jsonOf(shown)).toMatchObject({ transaction: { transaction_id: ID, revision: 2 } });
      await later(refused);
      await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('behind')] });
      expect((await outcome()).status).toBe(200);
    });

    it('SPEC-GRPC-FETCH-TRANSACTION: is found with its refusal over gRPC, also on another node', async () => {
      await later(refused);
      await outcome();
      const failure = await eventually(async () => {
        const asked = await failureOf(
          server.client.send('fetchTransaction', { databaseName: name, transactionId: ID }),
        );
        expect(asked.code).not.toBe('NOT_FOUND');
        return asked;
      });
      expect(failure.code).toBe('FAILED_PRECONDITION');
      expect(failure.violations.map(({ type, subject }) => [type, subject])).toEqual([
        ['MinRevision', 'constraints[1]'],
      ]);
      const wanted = { reason: 'constraint_violated', metadata: { transaction_id: ID, refused_revision: '0' } };
      expect(failure.info).toMatchObject(wanted);
    });
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
    // The recorded result is returned for any body, but not when the body and the header name different ids.
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
    const bare = await api.post(path, { events: [cloudEvent('b')] }, { 'x-batch-id': '7' });
    expect(errorOf(bare, INVALID_ARGUMENT).details?.field).toBe('x-batch-id');
    expect(await api.latestRevision(name)).toBe(1);
  });
});
