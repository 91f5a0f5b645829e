// Goal: operators see which clients lose connections because of what they send, and a crowd does not fill the log.
// Method: a server over a service in one thread, and connections whose every frame is the test's.
import { expect, it } from 'vitest';
import { type LogFields, silentLogger } from '#observability';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { startGrpcServer } from '../../../../src/transport/grpc/server.ts';
import { eventually } from '../../../support/eventually.ts';
import { frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { ServiceWorld } from '../../../support/service-world.ts';

const MUCH = 2 ** 30;
const LINES_MAX = 10;
const CROWD = 12;
/** GOAWAY of last stream 2^31-1: how grpc-go closes a connection. */
const GOAWAY = frameOf({ type: 7, flags: 0, stream: 0, payload: Buffer.from('7fffffff00000000', 'hex') });
const HEADERS = grpcHeaders('/grpc.health.v1.Health/Watch');

it('counts each connection that is ended, logs ten of a minute, and does neither for a client that closes by GOAWAY', async () => {
  const world = await new ServiceWorld().start();
  const ended: (LogFields | undefined)[] = [];
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    service: world.service,
    logger: { ...silentLogger, warn: (event, fields) => event === 'grpc-connection-ended' && ended.push(fields) },
    metrics: world.metrics,
    onFatal: () => undefined,
    budgets: createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH }),
    limits: { streamsAtFirst: 8, streamsPerConnectionMax: 8 },
  });
  await using closing = await openFrames(server.port);
  closing.write(Buffer.concat([begin(1), GOAWAY]));
  await eventually(() => expect(closing.isClosed).toBe(true));
  for (let n = 0; n < CROWD; n++) {
    await using frames = await openFrames(server.port);
    frames.write(Buffer.concat(Array.from({ length: 1_300 }, (_, stream) => begin(2 * stream + 1))));
    await eventually(() => expect(frames.isClosed).toBe(true));
  }
  const { body } = await world.metrics.render();
  expect(body).toContain(`cairn_grpc_connections_ended_total{reason="flood"} ${CROWD}`);
  expect(body).toMatch(/cairn_rejected_total\{reason="overload"\} 1\d{4}/);
  expect(ended).toHaveLength(LINES_MAX);
  expect(ended[0]).toMatchObject({ reason: 'flood', peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
  await server.drain(0);
});

function begin(stream: number): Buffer {
  return frameOf({ type: 1, flags: 4, stream, payload: HEADERS });
}
