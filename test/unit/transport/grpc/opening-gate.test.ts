// Goal: a call whose credential is rejected late ends before its message arrives. Method: an authenticator that rejects
// asynchronously, and a client that sends only headers.
import { expect, it } from 'vitest';
import { Authenticator } from '#auth';
import { DatabaseError } from '#base';
import { silentLogger } from '#observability';
import { createByteBudgets, startGrpcServer } from '#transport';
import { ManualTime } from '../../../support/budget-time.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc, replyOn } from '../../../support/raw-grpc.ts';

it('rejects a call while it waits for the message', async () => {
  const budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: 2 ** 30, time: new ManualTime() });
  await using world = await startHttpWorld({ budgets, holdsWaits: false });
  const { service, metrics } = world;
  const extract = () => Promise.reject(new DatabaseError('unauthenticated', 'The key has expired'));
  const authenticator = new Authenticator({ chain: [{ inputs: [], extract }], onRefused: () => undefined });
  const access = { authenticator, serviceOf: () => service };
  const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
  const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets, access });
  const { session } = new RawGrpc(server.port);
  const headers = { ':method': 'POST', ':path': '/cairn.v1.EventStore/Transact', 'content-type': 'application/grpc' };
  expect(await replyOn(session.request(headers))).toMatchObject({ status: 16, message: 'The key has expired' });
  session.destroy();
  await server.drain(0);
});
