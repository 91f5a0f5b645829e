// Goal: a request takes memory while it is worked on, and no longer.
// Method: the gRPC server over a service in one thread, which shows what was handed to it.

import { expect, it } from 'vitest';
import { createLogger } from '#observability';
import type { TransactRequest as ServiceRequest } from '#service';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { TransactReply, TransactRequest } from '../../../../src/transport/grpc/gen/cairn/v1/transaction.ts';
import { startGrpcServer } from '../../../../src/transport/grpc/server.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { event, maxRevision, transaction } from '../../../support/grpc-requests.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { ServiceWorld } from '../../../support/service-world.ts';

it('gives the memory of a large request back with its answer', async () => {
  const world = await new ServiceWorld().start();
  await world.database('shop');
  const requests: ServiceRequest[] = [];
  const lengths: (readonly number[])[] = [];
  const service = {
    ...world.service,
    transact: (request: ServiceRequest) => {
      requests.push(request);
      lengths.push(request.events.map(({ length }) => length));
      return world.service.transact(request);
    },
  };
  const budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: 2 ** 30, patienceMs: 1000 });
  const logger = createLogger({ level: 'silent' });
  const shared = { service, logger, metrics: world.metrics, onFatal: () => undefined, budgets };
  const server = await startGrpcServer({ host: '127.0.0.1', port: 0, ...shared });
  const raw = new RawGrpc(server.port);

  // Larger than what Node cuts from a pool, whose memory is not the request's alone.
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
  expect(lengths.flat().every((length) => length > 0)).toBe(true);
  expect(requests.map(({ events }) => events.map(({ length }) => length))).toEqual([[0, 0], [0]]);

  await raw.close();
  await server.drain(0);
});
