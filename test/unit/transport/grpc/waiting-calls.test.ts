// Goal: the calls of the service that wait count to those that wait, and leave all others their places (T9). Method: a
// server over a service in one thread, with one place for them.
import { expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import {
  ScanDatabaseLogRequest,
  SubscribeEventsRequest,
} from '../../../../src/transport/grpc/gen/cairn/v1/database.ts';
import { callPlaces } from '../../../../src/transport/grpc/limits.ts';
import { startGrpcServer } from '../../../../src/transport/grpc/server.ts';
import { TestClient } from '../../../support/grpc-client.ts';
import { ServiceWorld } from '../../../support/service-world.ts';

const MUCH = 2 ** 30;
const FAR = 1_000_000;
const SCAN = ScanDatabaseLogRequest.fromPartial({ databaseName: 'shop' });
const SUBSCRIPTION = SubscribeEventsRequest.fromPartial({ databaseName: 'shop', heartbeatMs: 100 });
const REFUSED = {
  code: 'RESOURCE_EXHAUSTED',
  message: expect.stringMatching(/^This connection has its share, 1, of the 1 calls that wait /),
  info: { reason: 'rate_limited', metadata: { reason: 'TooManyWaitingCalls' } },
};

it('a wait and a subscription take the same place, and no other', async () => {
  const world = await new ServiceWorld().start();
  await world.database('shop');
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    service: world.service,
    logger: silentLogger,
    metrics: world.metrics,
    onFatal: () => undefined,
    budgets: createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH }),
    limits: { callsMax: { waiting: 1, reading: 1, working: 10 } },
  });
  await using client = new TestClient(server.address);
  const read = async (): Promise<unknown> => {
    await client.collect('scanDatabaseLog', SCAN);
    return client.send('fetchLatestDatabase', { databaseName: 'shop' });
  };
  const wait = (): Promise<unknown> => client.send('awaitDatabase', { databaseName: 'shop', atRevision: FAR });
  const subscribe = (): Promise<unknown> => client.collect('subscribeEvents', SUBSCRIPTION);

  const subscription = client.open('subscribeEvents', SUBSCRIPTION);
  const ended = new Promise((resolve) => subscription.on('error', resolve));
  await new Promise((resolve) => subscription.once('metadata', resolve));
  await expect(wait()).rejects.toMatchObject(REFUSED);
  await expect(subscribe()).rejects.toMatchObject(REFUSED);
  await expect(read()).resolves.toBeDefined();
  subscription.cancel();
  await ended;
  const waiting = wait().catch((failure: unknown) => failure);
  await expect(subscribe()).rejects.toMatchObject(REFUSED);
  await expect(read()).resolves.toBeDefined();
  await server.drain(0);
  expect(await waiting).toMatchObject({ code: 'UNAVAILABLE' });
});

it.each([
  ['16 MiB', 2 ** 24, { waiting: 384, reading: 128, working: 512 }],
  ['128 MiB', 2 ** 27, { waiting: 3_072, reading: 1_024, working: 4_096 }],
  ['64 GiB', 2 ** 36, { waiting: 49_152, reading: 16_384, working: 65_536 }],
])('there are places by the memory for streams: %s', (_memory, bytes, places) => {
  expect(callPlaces(bytes)).toEqual(places);
});
