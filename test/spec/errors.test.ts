// Each error code has the same cause over gRPC and HTTP.
import { describe, expect, it } from 'vitest';
import { AwaitDatabaseRequest } from '../../proto/gen/cairn/v1/database.ts';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, maxRevision, transaction } from '../support/grpc-requests.ts';
import { type Answer, cloudEvent, errorOf } from '../support/http-client.ts';
import { framed, RawGrpc, richStatusOf } from '../support/raw-grpc.ts';
import { startTestServer } from '../support/server.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;
const taken = await api.created();
await api.commit(taken, cloudEvent('a'));
const tooMany = Array.from({ length: 1001 }, (_, n) => `e-${n}`);
const manyEvents = tooMany.map((id) => event({ id }));

type Fault = readonly [code: string, status: number, reason: string, () => Promise<unknown>, () => Promise<Answer>];

const FAULTS: readonly Fault[] = [
  [
    'INVALID_ARGUMENT',
    400,
    'invalid_argument',
    () => client.call('createDatabase', { databaseName: 'No' }),
    () => api.post('/databases', { name: 'No' }),
  ],
  [
    'NOT_FOUND',
    404,
    'not_found',
    () => client.call('fetchLatestDatabase', { databaseName: 'nothing' }),
    () => api.get('/databases/nothing'),
  ],
  [
    'ALREADY_EXISTS',
    409,
    'already_exists',
    () => client.call('createDatabase', { databaseName: taken }),
    () => api.post('/databases', { name: taken }),
  ],
  [
    'FAILED_PRECONDITION',
    409,
    'constraint_violated',
    () => client.call('transact', transaction(taken, [event()], { constraints: [maxRevision(0)] })),
    () =>
      api.post(`/databases/${taken}/events`, { events: [cloudEvent('b')], constraints: [{ max: { revision: 0 } }] }),
  ],
  [
    'RESOURCE_EXHAUSTED',
    413,
    'too_large',
    () => client.call('transact', transaction(taken, manyEvents)),
    () => api.post(`/databases/${taken}/events`, { events: tooMany.map((id) => cloudEvent(id)) }),
  ],
];

describe('SPEC-ERRORS-CODES', () => {
  it.each(FAULTS)('%s is %i of HTTP and %s of gRPC', async (...fault) => {
    const [code, status, reason, overGrpc, overHttp] = fault;
    const failure = await failureOf(overGrpc());
    expect([failure.code, failure.info?.reason]).toEqual([code, reason]);
    const answer = errorOf(await overHttp(), { status, code });
    expect(answer.message).toBe(failure.message.replace(/transaction\.|database_(?=name must)/, ''));
    expect(await api.latestRevision(taken)).toBe(1);
  });

  it('UNAVAILABLE answers requests that wait while their node shuts down, and says so', async () => {
    const other = await startTestServer();
    const databaseName = await other.client.created();
    const raw = new RawGrpc(other.port);
    const request = AwaitDatabaseRequest.encode({ databaseName, atRevision: 1 }).finish();
    const waiting = raw.call({ path: EventStoreService.awaitDatabase.path, pieces: [framed(request)] });
    await raw.call({ path: EventStoreService.fetchCatalog.path, pieces: [framed(new Uint8Array(0))] });
    await other[Symbol.asyncDispose]();
    const reply = await waiting;
    expect(reply.message).toContain('shutting down');
    const infos = [{ reason: 'unavailable', metadata: { reason: 'Draining' } }];
    expect(richStatusOf(reply)).toMatchObject({ code: 14, infos });
  });
});
