// Goal: what surrounds the operations over gRPC: health, compression, deadlines, and hostile input at every method.
// Method: a real node, and the server over one whose disk the test fills; the clients of the gRPC project, and a client
// that sends any bytes.
import { credentials } from '@grpc/grpc-js';
import * as fc from 'fast-check';
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
import { framed, richStatusOf } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const METHODS = Object.values(EventStoreService).map(({ path }) => path);

const { server, raw } = await sharedGrpcNode();

/** The value of a metric, by its name and labels as Prometheus reads them. */
async function metric(line: string): Promise<string | undefined> {
  const body = await (await fetch(server.metrics)).text();
  return body
    .split('\n')
    .find((row) => row.startsWith(`${line} `))
    ?.slice(line.length + 1);
}

it('SPEC-GRPC-METHODS has every method of the proto files', async () => {
  const missing: string[] = [];
  for (const path of METHODS) {
    const { status } = await raw.call({ path, pieces: [framed(new Uint8Array(0))] });
    if (status === 12) missing.push(path);
  }
  expect(missing).toEqual([]);
});

it('SPEC-GRPC-ERROR-DETAILS are there where no method is reached', async () => {
  const unknown = await raw.call({ path: '/cairn.v1.EventStore/Nothing', pieces: [framed(new Uint8Array(0))] });
  const path = '/cairn.v1.EventStore/Transact';
  const huge = await raw.call({ path, pieces: [Uint8Array.of(0, 255, 255, 255, 255)] });
  expect([unknown.status, huge.status]).toEqual([12, 8]);
  const reasons = [unknown, huge].map((reply) => richStatusOf(reply)?.infos.map(({ reason }) => reason));
  expect(reasons).toEqual([['unimplemented'], ['too_large']]);
});

describe('SPEC-GRPC-HEALTH', () => {
  const NAMES = ['', 'read', 'write', 'cairn.v1.EventStore'];
  const MUCH = 2 ** 30;

  it('serves reads and writes, by name', async () => {
    const client = new HealthClient(server.grpc, credentials.createInsecure());
    for (const service of NAMES) {
      const status = await new Promise((resolve, reject) => {
        client.check({ service }, (error, reply) => (error === null ? resolve(reply.status) : reject(error)));
      });
      expect(status).toBe(Serving.SERVING);
    }
    const unknown = await new Promise((resolve) =>
      client.check({ service: 'nothing' }, (error) => resolve(error?.code)),
    );
    expect(unknown).toBe(5);
    client.close();
  });

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
  expect(await metric(OPEN)).toBe('1');
  stream.cancel();
  while ((await metric(OPEN)) !== '0') await new Promise((resolve) => setImmediate(resolve));
  expect(await metric(`grpc_server_handled_total{${METHOD},grpc_code="CANCELLED"}`)).toBe('1');
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

describe('SPEC-GRPC-MALFORMED', () => {
  const takesFields = METHODS.filter((path) => !path.endsWith('FetchCatalog'));

  it.each(takesFields)('%s refuses bytes that are not protobuf with the place', async (path) => {
    const { status, message } = await raw.call({ path, pieces: [framed(Uint8Array.of(0x0a, 5, 0x61))] });
    expect(status).toBe(3);
    expect(message).toMatch(/is not a cairn\.v1\.\w+Request: the field at byte 0 is not protobuf/);
  });

  it('answers any bytes at any method with a status that names no bug, and stays well', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.uint8Array({ maxLength: 40 }).map((rest) => Buffer.concat([Buffer.from('\n\u0003abc'), rest])),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...METHODS), bytes, async (path, message) => {
        // A subscription or a wait that happens to be well-formed ends with its deadline.
        const headers = { 'grpc-timeout': '300m' };
        const { status } = await raw.call({ path, headers, pieces: [framed(message)] });
        expect([0, 3, 4, 5, 6, 7, 8, 12]).toContain(status);
      }),
      { numRuns: 300 },
    );
    const databaseName = uniqueName();
    await server.client.send('createDatabase', { databaseName });
    expect(await server.client.send('transact', transaction(databaseName, [event()]))).toMatchObject({ revision: 1 });
  });
});
