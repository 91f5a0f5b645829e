// Goal: the gRPC server counts ended connections, limits waiting calls separately from reads (T9), and releases the
// memory of requests. Method: the server over a service in one thread.
import { expect, it, onTestFinished } from 'vitest';
import { type LogFields, silentLogger } from '#observability';
import type { Service, TransactRequest as ServiceRequest } from '#service';
import { ScanDatabaseLogRequest, SubscribeEventsRequest } from '../../../../proto/gen/cairn/v1/database.ts';
import { TransactReply, TransactRequest } from '../../../../proto/gen/cairn/v1/transaction.ts';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { type GrpcServerOptions, startGrpcServer } from '../../../../src/transport/grpc/server.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { eventually } from '../../../support/eventually.ts';
import { TestClient } from '../../../support/grpc-client.ts';
import { event, maxRevision, transaction } from '../../../support/grpc-requests.ts';
import { frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { ServiceWorld } from '../../../support/service-world.ts';

const MUCH = 2 ** 30;

async function start(service: (own: Service) => Partial<Service>, options: Partial<GrpcServerOptions> = {}) {
  const world = await new ServiceWorld().start();
  await world.database('shop');
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
    metrics: world.metrics,
    onFatal: () => undefined,
    service: { ...world.service, ...service(world.service) },
    budgets: createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH }),
    ...options,
  });
  const raw = new RawGrpc(server.port);
  onTestFinished(async () => {
    raw.session.destroy();
    await server.drain(0);
  });
  return { world, server, raw };
}

it('counts each connection that it ends, logs ten of them per minute, and neither for a client that closes with GOAWAY', async () => {
  const [LINES_MAX, CROWD] = [10, 12];
  const headers = grpcHeaders('/grpc.health.v1.Health/Watch');
  const begin = (stream: number): Buffer => frameOf({ type: 1, flags: 4, stream, payload: headers });
  /** GOAWAY with last stream 2^31-1, as grpc-go closes a connection. */
  const goAway = frameOf({ type: 7, flags: 0, stream: 0, payload: Buffer.from('7fffffff00000000', 'hex') });
  const ended: (LogFields | undefined)[] = [];
  const warn = (name: string, fields?: LogFields): void =>
    void (name === 'grpc-connection-ended' && ended.push(fields));
  const limits = { streamsPerConnectionMax: 8 };
  const { server, world } = await start(() => ({}), { logger: { ...silentLogger, warn }, limits });
  const flood = Buffer.concat(Array.from({ length: 12_000 }, (_, stream) => begin(2 * stream + 1)));
  for (const sent of [Buffer.concat([begin(1), goAway]), ...Array.from({ length: CROWD }, () => flood)]) {
    await using frames = await openFrames(server.port);
    frames.write(sent);
    await eventually(() => expect(frames.isClosed).toBe(true));
  }
  const { body } = await world.metrics.render();
  expect(body).toContain(`cairn_grpc_connections_ended_total{reason="flood"} ${CROWD}`);
  expect(body).toMatch(/cairn_rejected_total\{reason="overload"\} \d{2,3}\n/);
  expect(ended).toHaveLength(LINES_MAX);
  expect(ended[0]).toMatchObject({ reason: 'flood', peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
});

it('releases the memory of a large request with its answer', async () => {
  const requests: ServiceRequest[] = [];
  const lengths: number[] = [];
  const { raw } = await start((own) => ({
    transact: (request: ServiceRequest) => {
      requests.push(request);
      lengths.push(...request.events.map(({ length }) => length));
      return own.transact(request);
    },
  }));
  // Larger than Node's buffer pool, whose memory requests share.
  const data = Buffer.alloc(50_000);
  const large = transaction('shop', [event({ id: 'a', data }), event({ id: 'b' })]);
  const refused = transaction('shop', [event({ id: 'c', data })], { constraints: [maxRevision(0)] });
  const replies = [];
  for (const request of [large, refused]) {
    const message = TransactRequest.encode(request).finish();
    replies.push(await raw.call({ path: '/cairn.v1.EventStore/Transact', pieces: [frame(message)] }));
  }
  expect(replies.map(({ status }) => status)).toEqual([0, 9]);
  const { eventIdMappings } = TransactReply.decode(replies[0]?.body.subarray(FRAME_HEADER_BYTES) ?? new Uint8Array(0));
  expect(eventIdMappings.map(({ storedEventId }) => storedEventId)).toEqual(['a', 'b']);
  expect(Math.min(...lengths)).toBeGreaterThan(0);
  expect(requests.map(({ events }) => events.map(({ length }) => length))).toEqual([[0, 0], [0]]);
});

it('has one slot for waits and subscriptions, and others for reads (T9)', async () => {
  const { server } = await start(() => ({}), { limits: { callsMax: { waiting: 1, reading: 1 } } });
  const subscribing = SubscribeEventsRequest.fromPartial({ databaseName: 'shop', heartbeatMs: 100 });
  const refused = {
    code: 'RESOURCE_EXHAUSTED',
    message: expect.stringMatching(/^This connection has its share, 1, of the 1 calls that wait /),
    info: { reason: 'rate_limited', metadata: { reason: 'TooManyWaitingCalls' } },
  };
  await using client = new TestClient(server.address);
  const read = async (): Promise<unknown> => {
    await client.collect('scanDatabaseLog', ScanDatabaseLogRequest.fromPartial({ databaseName: 'shop' }));
    return client.send('fetchLatestDatabase', { databaseName: 'shop' });
  };
  const wait = (): Promise<unknown> => client.send('awaitDatabase', { databaseName: 'shop', atRevision: 1_000_000 });
  const subscription = client.open('subscribeEvents', subscribing);
  const ended = new Promise((resolve) => subscription.on('error', resolve));
  await new Promise((resolve) => subscription.once('metadata', resolve));
  await expect(wait()).rejects.toMatchObject(refused);
  await expect(client.collect('subscribeEvents', subscribing)).rejects.toMatchObject(refused);
  await expect(read()).resolves.toBeDefined();
  subscription.cancel();
  await ended;
  const waiting = wait().catch((failure: unknown) => failure);
  await expect(client.collect('subscribeEvents', subscribing)).rejects.toMatchObject(refused);
  await expect(read()).resolves.toBeDefined();
  await server.drain(0);
  expect(await waiting).toMatchObject({ code: 'UNAVAILABLE' });
});
