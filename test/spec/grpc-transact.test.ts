// Transactions over gRPC: results, metadata, repeats, limits and constraints.
import { describe, expect, it } from 'vitest';
import { type TransactReply, TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';
import { failureOf, outcomeOf } from '../support/grpc-client.ts';
import { event, maxRevision, minRevision, selector, transaction } from '../support/grpc-requests.ts';
import { sharedServer } from '../support/shared-servers.ts';

const TRANSACTION_ID = '0193A1B2-c3d4-7e5f-8a9b-100000000000';

const server = await sharedServer();

function transact(request: TransactRequest): Promise<TransactReply> {
  return server.client.send('transact', request);
}

describe('SPEC-GRPC-TRANSACT', () => {
  it('commits events as one revision and maps every id', async () => {
    const name = await server.client.created();
    const sent = transaction(name, [event({ id: 'a' }), event({ id: 'b', source: '/x/carts' })]);
    const { message, headers, trailers } = await server.client.call('transact', sent);
    expect(message).toMatchObject({ revision: 1, basis: 0, eventCount: 2, replayed: false });
    expect(message.eventIdMappings).toEqual([
      { clientEventId: 'a', storedEventId: 'a' },
      { clientEventId: 'b', storedEventId: 'b' },
    ]);
    expect(message.transactionId).toMatch(/^[0-9a-f]{8}-/);
    expect(headers).toMatchObject({ 'x-database-id': message.databaseId, 'x-revision': '1' });
    expect(trailers).toMatchObject({ 'x-leader-node': expect.any(String), 'x-leader-address': expect.any(String) });
    expect(await transact(transaction(name, [event({ id: 'c' })]))).toMatchObject({ revision: 2, basis: 1 });
  });

  it('stores the metadata of a transaction and returns it (SPEC-TRANSACTION-METADATA)', async () => {
    const name = await server.client.created();
    const options = {
      lastReadRevision: 0,
      principalAttributes: { user: 'ada', role: 'clerk' },
      commitMessage: 'the first\nof many',
      correlationId: 'c-1',
      causationId: 'c-0',
    };
    const committed = await transact(
      TransactRequest.fromPartial({ databaseName: name, transaction: { events: [event()], options } }),
    );
    const { message, headers } = await server.client.call('fetchTransaction', {
      databaseName: name,
      transactionId: committed.transactionId,
    });
    expect(message.transaction).toMatchObject({ revision: 1, totalEventCount: 1, body: { origin: 3, options } });
    expect(message).toMatchObject({ basis: 0, eventIdMappings: committed.eventIdMappings });
    expect(headers).toMatchObject({ 'x-database-id': committed.databaseId, 'x-revision': '1' });
  });
});

describe('SPEC-TRANSACTION-IDEMPOTENCE', () => {
  it('answers a repeat with the recorded result, for any body', async () => {
    const name = await server.client.created();
    await transact(transaction(name, [event({ id: 'a' })]));
    const first = await transact(transaction(name, [event({ id: 'a' })], { transactionId: TRANSACTION_ID }));
    expect(first).toMatchObject({ revision: 2, transactionId: TRANSACTION_ID.toLowerCase(), replayed: false });
    const bodies = [
      transaction(name, [event({ id: 'a' })], { transactionId: TRANSACTION_ID }),
      transaction(name, [event({ id: 'other' }), event({ id: 'two' })], {
        transactionId: TRANSACTION_ID.toLowerCase(),
      }),
      transaction(name, [event({ id: 'x' })], { transactionId: TRANSACTION_ID, constraints: [maxRevision(0)] }),
      transaction(name, [event({ id: '' })], { transactionId: TRANSACTION_ID }),
      transaction(name, [], { transactionId: TRANSACTION_ID }),
      transaction(name, [event({ data: Buffer.alloc(1_000_001) })], { transactionId: TRANSACTION_ID }),
    ];
    for (const body of bodies) expect(await transact(body)).toEqual({ ...first, replayed: true });
    const { database } = await server.client.send('fetchLatestDatabase', { databaseName: name });
    expect(database?.revision).toBe(2);
  });

  it('is scoped to the instance of the database', async () => {
    const name = await server.client.created();
    const request = transaction(name, [event()], { transactionId: TRANSACTION_ID });
    await transact(request);
    await server.client.send('deleteDatabase', { databaseName: name, databaseId: undefined });
    await server.client.send('createDatabase', { databaseName: name });
    expect(await transact(request)).toMatchObject({ revision: 1, replayed: false });
  });

  it('commits once when the same transaction arrives many times at once', async () => {
    const name = await server.client.created();
    const request = transaction(name, [event()], { transactionId: TRANSACTION_ID });
    const replies = await Promise.all(Array.from({ length: 20 }, () => transact(request)));
    expect(new Set(replies.map(({ revision }) => revision))).toEqual(new Set([1]));
    expect(replies.filter(({ replayed }) => !replayed).length).toBe(1);
  });
});

it('SPEC-LIMITS-1 takes 1,000,000 bytes of events and refuses one more', async () => {
  const name = await server.client.created();
  const around = TransactRequest.encode(transaction('', [event({ data: Buffer.alloc(300_000) })])).finish().length;
  const eventBytes = around - 300_000 - 8;
  const largest = 1_000_000 - eventBytes;
  expect(await transact(transaction(name, [event({ data: Buffer.alloc(largest) })]))).toMatchObject({ revision: 1 });
  const failure = await failureOf(transact(transaction(name, [event({ data: Buffer.alloc(largest + 1) })])));
  expect(failure).toMatchObject({ code: 'RESOURCE_EXHAUSTED', info: { reason: 'too_large' } });
  expect(failure.message).toContain('1000001 bytes');
});

describe('SPEC-CONSTRAINTS', () => {
  // Revision 1: orders/order.placed/s-1; 2: carts/cart.filled without subject; 3: orders/order.shipped/s-2.
  const orders = selector({ stream: 'orders' });
  const carts = selector({ stream: 'carts' });

  async function history(): Promise<string> {
    const name = await server.client.created();
    await transact(transaction(name, [event({ id: '1', subject: 's-1' })]));
    await transact(transaction(name, [event({ id: '2', source: 'carts', ty: 'cart.filled' })]));
    await transact(transaction(name, [event({ id: '3', ty: 'order.shipped', subject: 's-2' })]));
    return name;
  }

  it('are all required, and every violated one is reported by its index', async () => {
    const name = await history();
    const constraints = [maxRevision(2), minRevision(3, orders), maxRevision(0, carts)];
    const failure = await failureOf(transact(transaction(name, [event()], { constraints })));
    expect(failure.trailers).toMatchObject({ 'x-database-id': expect.any(String), 'x-revision': '3' });
    expect(failure.trailers).toHaveProperty('x-leader-node');
    expect(failure).toMatchObject({ code: 'FAILED_PRECONDITION', info: { domain: 'cairn.dev' } });
    const kind = { type: 'MaxRevision', description: expect.stringMatching(/revision \d/) };
    expect(failure.violations).toEqual([
      { ...kind, subject: 'transaction.constraints[0]' },
      { ...kind, subject: 'transaction.constraints[2]' },
    ]);
  });

  it('hold for one of several concurrent transactions with the same condition', async () => {
    const name = await history();
    const request = transaction(name, [event({ source: 'carts' })], { constraints: [maxRevision(2, carts)] });
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(transact(request))));
    const refused = outcomes.filter((outcome) => outcome.startsWith('FAILED_PRECONDITION'));
    expect([outcomes.filter((outcome) => outcome === 'OK').length, refused.length]).toEqual([1, 7]);
  });
});
