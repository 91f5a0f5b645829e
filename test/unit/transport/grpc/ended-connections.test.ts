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
/** PUSH_PROMISE, which only servers send. */
const PUSHED = frameOf({ type: 5, flags: 4, stream: 1, payload: new Uint8Array(4) });
const HEADERS = grpcHeaders('/grpc.health.v1.Health/Watch');

it('each is counted, and the first of a minute are named in the log', async () => {
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
  for (let n = 0; n < CROWD; n++) {
    await using frames = await openFrames(server.port);
    // A stream that only servers may begin.
    if (n === 0) frames.write(Buffer.concat([begin(1), PUSHED]));
    else frames.write(Buffer.concat(Array.from({ length: 1_300 }, (_, stream) => begin(2 * stream + 1))));
    await eventually(() => expect(frames.isClosed).toBe(true));
  }
  const { body } = await world.metrics.render();
  expect(body).toContain('cairn_grpc_connections_ended_total{reason="protocol"} 1');
  expect(body).toContain(`cairn_grpc_connections_ended_total{reason="flood"} ${CROWD - 1}`);
  expect(body).toMatch(/cairn_rejected_total\{reason="overload"\} 1\d{4}/);
  expect(ended).toHaveLength(LINES_MAX);
  expect(ended[0]).toMatchObject({ reason: 'protocol' });
  expect(ended[1]).toMatchObject({ reason: 'flood', peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
  await server.drain(0);
});

function begin(stream: number): Buffer {
  return frameOf({ type: 1, flags: 4, stream, payload: HEADERS });
}
