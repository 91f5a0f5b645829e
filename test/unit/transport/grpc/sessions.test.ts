// Goal: a connection that does not answer pings ends, and a drain sends GOAWAY. Method: raw and HTTP/2 clients.
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import { until } from '../../../support/budget-time.ts';
import { openStream } from '../../../support/grpc-world.ts';
import { IDLE_GRPC } from '../../../support/slow-clients.ts';
import { startWireServer } from '../../../support/wire-server.ts';

const HOLD: Method = { kind: 'unary', service: 'a.Service', name: 'Hold', handle: () => undefined };

function opened(port: number): ClientHttp2Session {
  return connectHttp2(`http://127.0.0.1:${port}`).on('error', () => undefined);
}

it('destroys a connection that does not answer a ping, and no other', async () => {
  await using server = await startWireServer({ methods: [HOLD], limits: { pingEveryMs: 50, pingTimeoutMs: 1_000 } });
  const answering = opened(server.port);
  const silent = connect(server.port, '127.0.0.1').on('error', () => undefined);
  silent.write(IDLE_GRPC);
  silent.resume();
  await once(silent, 'close');
  expect([answering.destroyed, answering.closed]).toEqual([false, false]);
  answering.destroy();
});

it('sends GOAWAY when it drains with open calls', async () => {
  await using server = await startWireServer({ methods: [HOLD] });
  const client = opened(server.port);
  const stream = openStream(client, '/a.Service/Hold', frame(new Uint8Array(0)));
  await until(() => server.server.callCount === 1);
  const drained = server.server.drain(60_000);
  await once(client, 'goaway');
  expect(stream.closed).toBe(false);
  client.destroy();
  await drained;
});
