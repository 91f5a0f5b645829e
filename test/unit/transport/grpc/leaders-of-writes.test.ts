// Goal: a write of components that is refused, whatever for, names the leader of its database, not that of the catalog.
// Method: the gRPC server over a service in one thread that says of one database that another node leads it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LeaderAddress } from '#base';
import { createLogger } from '#observability';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import {
  ActivateStateViewRequest,
  DeleteComponentRequest,
  ExpireSnapshotsRequest,
  PublishStateViewRequest,
} from '../../../../src/transport/grpc/gen/cairn/v1/component.ts';
import { type GrpcServer, startGrpcServer } from '../../../../src/transport/grpc/server.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { ServiceWorld } from '../../../support/service-world.ts';

const LEADERS: Readonly<Record<string, LeaderAddress>> = { shop: { node: 'n2', address: '10.0.0.2:50051' } };
const OF_CATALOG: LeaderAddress = { node: 'n1', address: '10.0.0.1:50051' };
let server: GrpcServer;
let raw: RawGrpc;

beforeAll(async () => {
  const world = await new ServiceWorld().start();
  await world.database('shop');
  const leader = (databaseName: string = ''): LeaderAddress => LEADERS[databaseName] ?? OF_CATALOG;
  const service = { ...world.service, leader };
  const budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: 2 ** 30, patienceMs: 1000 });
  const logger = createLogger({ level: 'silent' });
  const shared = { service, logger, metrics: world.metrics, onFatal: () => undefined, budgets };
  server = await startGrpcServer({ host: '127.0.0.1', port: 0, ...shared });
  raw = new RawGrpc(server.port);
});
afterAll(async () => {
  await raw.close();
  await server.drain(0);
});

const named = { databaseName: 'shop', stateViewName: 'none', version: 1 };

it.each([
  ['PublishStateView', PublishStateViewRequest.encode(PublishStateViewRequest.fromPartial(named)).finish()],
  ['ActivateStateView', ActivateStateViewRequest.encode(ActivateStateViewRequest.fromPartial(named)).finish()],
  ['ExpireSnapshots', ExpireSnapshotsRequest.encode(ExpireSnapshotsRequest.fromPartial(named)).finish()],
  [
    'DeleteComponent',
    DeleteComponentRequest.encode(
      DeleteComponentRequest.fromPartial({ databaseName: 'shop', kind: 1, name: 'none' }),
    ).finish(),
  ],
])('%s that is refused names the leader of its database', async (method, message) => {
  const reply = await raw.call({ path: `/cairn.v1.EventStore/${method}`, pieces: [frame(message)] });
  expect(reply).toMatchObject({ status: expect.toSatisfy((status: number) => status > 0) });
  expect({ ...reply.headers, ...reply.trailers }).toMatchObject({
    'x-leader-node': 'n2',
    'x-leader-address': '10.0.0.2:50051',
  });
});
