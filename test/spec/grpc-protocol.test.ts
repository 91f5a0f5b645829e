// Health, deadlines, cancellation and malformed requests over gRPC.
import { credentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { createByteBudgets, startGrpcServer } from '#transport';
import { AwaitDatabaseRequest } from '../../proto/gen/cairn/v1/database.ts';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { HealthClient, HealthCheckResponse_ServingStatus as Serving } from '../../proto/gen/grpc/health/v1/health.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startHttpWorld } from '../support/http-world.ts';
import { seriesAt } from '../support/metrics-page.ts';
import { framed, richStatusOf } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const METHODS = Object.values(EventStoreService).map(({ path }) => path);

const { server, raw } = await sharedGrpcNode();

describe('SPEC-GRPC-HEALTH', () => {
  const NAMES = ['', 'read', 'write', 'cairn.v1.EventStore'];
  const MUCH = 2 ** 30;

  it('serves no writes while the disk refuses them, and everything again afterwards', async () => {
    await using world = await startHttpWorld();
    const { service, metrics } = world;
    const budgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH });
    const parts = { service, metrics, budgets, logger: silentLogger, onFatal: () => undefined };
    const node = await startGrpcServer({ ...parts, host: '127.0.0.1', port: 0 });
    const client = new HealthClient(node.address, credentials.createInsecure());
    const statuses = async (): Promise<object> => Object.fromEntries(await Promise.all(NAMES.map(statusOf)));
    const statusOf = (name: string): Promise<readonly [string, Serving | undefined]> =>
      new Promise((resolve) => {
        client.check({ service: name }, (_error, reply) => resolve([name, reply?.status]));
      });
    const all = Object.fromEntries(NAMES.map((name) => [name, Serving.SERVING]));
    expect(await statuses()).toEqual(all);
    world.core.disk = 'refusing-writes';
    await eventually(async () => expect(await statuses()).toEqual({ ...all, write: Serving.NOT_SERVING }));
    world.core.disk = 'open';
    await eventually(async () => expect(await statuses()).toEqual(all));
    client.close();
    await node.drain(0);
  });
});

it('SPEC-GRPC-DEADLINES is kept by the server: it answers a call that waits longer than grpc-timeout, whatever the client does', async () => {
  const databaseName = uniqueName();
  await server.client.send('createDatabase', { databaseName });
  const request = AwaitDatabaseRequest.encode({ databaseName, atRevision: 1 }).finish();
  // This client knows no deadlines: the status can only come from the other side.
  const reply = await raw.call({
    path: EventStoreService.awaitDatabase.path,
    headers: { 'grpc-timeout': '50m' },
    pieces: [framed(request)],
  });
  expect(reply.status).toBe(4);
  expect(reply.message).toContain('the call had a grpc-timeout of 50m');
  const infos = [{ reason: 'unavailable', metadata: { reason: 'DeadlineExceeded' } }];
  expect(richStatusOf(reply)).toMatchObject({ code: 4, infos });
});

const OPEN = 'cairn_streams_open{op="query"}';
const METHOD = 'grpc_type="server_stream",grpc_service="cairn.v1.EventStore",grpc_method="QueryEvents"';

it('SPEC-GRPC-CANCELLATION ends the work of a stream at the bottom, whatever is left of it', async () => {
  const databaseName = uniqueName();
  await server.client.send('createDatabase', { databaseName });
  const data = Buffer.alloc(500_000);
  for (let id = 0; id < 30; id++) {
    await server.client.send('transact', transaction(databaseName, [event({ id: `${id}`, data })]));
  }
  const stream = server.client.open('queryEvents', { databaseName, query: undefined, atRevision: undefined });
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.once('data', resolve));
  stream.pause();
  expect(await seriesAt(server.metrics, OPEN)).toBe(1);
  stream.cancel();
  while ((await seriesAt(server.metrics, OPEN)) !== 0) await new Promise((resolve) => setImmediate(resolve));
  expect(await seriesAt(server.metrics, `grpc_server_handled_total{${METHOD},grpc_code="CANCELLED"}`)).toBe(1);
});

it('SPEC-GRPC-REQUIRE-LEADER in a malformed header is refused by each write, with the header, its value and what would be right', async () => {
  const metadata = { 'x-require-leader': 'maybe' };
  const databaseName = 'any';
  const failures = await Promise.all([
    failureOf(server.client.send('createDatabase', { databaseName }, { metadata })),
    failureOf(server.client.send('deleteDatabase', { databaseName, databaseId: undefined }, { metadata })),
    failureOf(server.client.send('transact', transaction(databaseName, [event()]), { metadata })),
  ]);
  for (const failure of failures) {
    expect(failure.code).toBe('INVALID_ARGUMENT');
    expect(failure.message).toMatch(/x-require-leader must be true or false.*"maybe"/);
    expect(server.nodes).toContain(failure.trailers['x-leader-address']);
  }
});

describe('SPEC-GRPC-METHODS, SPEC-GRPC-MALFORMED', () => {
  const takesFields = METHODS.filter((path) => !path.endsWith('FetchCatalog'));

  it.each(takesFields)('%s refuses bytes that are not protobuf with the place', async (path) => {
    const { status, message } = await raw.call({ path, pieces: [framed(Uint8Array.of(0x0a, 5, 0x61))] });
    expect(status).toBe(3);
    expect(message).toMatch(/is not a cairn\.v1\.\w+Request: the field at byte 0 is not protobuf/);
  });
});
