// Rules of gRPC itself: health, deadlines, cancellation, malformed requests, and streams that deliver messages while
// they read.
import { type ClientReadableStream, credentials } from '@grpc/grpc-js';
import { beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { createByteBudgets, startGrpcServer } from '#transport';
import { AwaitDatabaseRequest, QueryEventsRequest, ScanDatabaseLogRequest } from '../../proto/gen/cairn/v1/database.ts';
import { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { HealthClient, HealthCheckResponse_ServingStatus as Serving } from '../../proto/gen/grpc/health/v1/health.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf, iterate, type StreamName } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startHttpWorld } from '../support/http-world.ts';
import { seriesAt, untilRendered } from '../support/metrics-page.ts';
import { framed, richStatusOf } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const METHODS = Object.values(EventStoreService).map(({ path }) => path);

const { server, raw } = await sharedGrpcNode();

/** Its events are several times as large as all socket buffers and flow control windows on the path. */
const LARGE = uniqueName();

beforeAll(async () => {
  await server.client.send('createDatabase', { databaseName: LARGE });
  const data = Buffer.alloc(500_000);
  for (let id = 0; id < 30; id++) {
    await server.client.send('transact', transaction(LARGE, [event({ id: `${id}`, data })]));
  }
});

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

it('SPEC-GRPC-DEADLINES is enforced by the server: it ends a call that waits longer than grpc-timeout', async () => {
  const databaseName = await server.client.created();
  const request = AwaitDatabaseRequest.encode({ databaseName, atRevision: 1 }).finish();
  // This client does not implement deadlines, so the status comes from the server.
  const reply = await raw.call({
    path: EventStoreService.awaitDatabase.path,
    headers: { 'grpc-timeout': '1S' },
    pieces: [framed(request)],
  });
  expect(reply.status).toBe(4);
  expect(reply.message).toContain('the call had a grpc-timeout of 1S');
  const infos = [{ reason: 'unavailable', metadata: { reason: 'DeadlineExceeded' } }];
  expect(richStatusOf(reply)).toMatchObject({ code: 4, infos });
});

const OPEN = 'cairn_streams_open{op="query"}';
const METHOD = 'grpc_type="server_stream",grpc_service="cairn.v1.EventStore",grpc_method="QueryEvents"';

it('SPEC-GRPC-CANCELLATION ends the reads of a stream in the store', async () => {
  const stream = server.client.open('queryEvents', { databaseName: LARGE, query: undefined, atRevision: undefined });
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.once('data', resolve));
  stream.pause();
  expect(await seriesAt(server.metrics, OPEN)).toBe(1);
  stream.cancel();
  while ((await seriesAt(server.metrics, OPEN)) !== 0) await new Promise((resolve) => setImmediate(resolve));
  expect(await seriesAt(server.metrics, `grpc_server_handled_total{${METHOD},grpc_code="CANCELLED"}`)).toBe(1);
});

it('SPEC-GRPC-REQUIRE-LEADER: each write refuses a malformed header, and names it, its value and the valid values', async () => {
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

it.each(METHODS.filter((path) => !path.endsWith('FetchCatalog')))(
  'SPEC-GRPC-METHODS, SPEC-GRPC-MALFORMED: %s refuses bytes that are not protobuf with the place',
  async (path) => {
    const { status, message } = await raw.call({ path, pieces: [framed(Uint8Array.of(0x0a, 5, 0x61))] });
    expect(status).toBe(3);
    expect(message).toMatch(/is not a cairn\.v1\.\w+Request: the field at byte 0 is not protobuf/);
  },
);

const query = QueryEventsRequest.fromPartial({ databaseName: LARGE });
const log = ScanDatabaseLogRequest.fromPartial({ databaseName: LARGE, direction: Direction.DIRECTION_FORWARD });

describe.concurrent('SPEC-GRPC-STREAMING', () => {
  it.each([
    { method: 'queryEvents', op: 'query', request: query },
    { method: 'scanDatabaseLog', op: 'scan', request: log },
    { method: 'scanLogBatches', op: 'scan_batches', request: log },
  ] as const)('$method delivers messages while it reads', async ({ method, op, request }) => {
    const open = `cairn_streams_open{op="${op}"}`;
    const stream = server.client.open<StreamName>(method, request) as ClientReadableStream<unknown>;
    const messages = iterate(stream);
    const { value: first } = await messages.next();
    expect(first).toBeDefined();
    // The stream would already be closed if it had read everything before it sent the first message.
    for (let look = 0; look < 2; look++) await untilRendered(server.metrics);
    expect(await seriesAt(server.metrics, open)).toBe(1);
    let count = 1;
    while ((await messages.next()).done !== true) count += 1;
    expect(count).toBeGreaterThan(1);
    await eventually(async () => expect(await seriesAt(server.metrics, open)).toBe(0));
  });
});
