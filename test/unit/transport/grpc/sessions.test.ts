// Goal: a connection that does not answer pings ends, also after a GOAWAY; a drain sends GOAWAY. Method: raw and HTTP/2
// clients.
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import { until } from '../../../support/budget-time.ts';
import { openStream } from '../../../support/grpc-world.ts';
import { dialFrames, frameOf, grpcHeaders } from '../../../support/http2-frames.ts';
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

it('destroys a connection that sends GOAWAY during a call and answers nothing afterwards', async () => {
  await using server = await startWireServer({ methods: [HOLD], limits: { pingEveryMs: 200, pingTimeoutMs: 200 } });
  await using frames = await dialFrames(server.port);
  const call = { stream: 1, payload: grpcHeaders('/a.Service/Hold') };
  const message = { type: 0, flags: 1, stream: 1, payload: frame(new Uint8Array(0)) };
  const goAway = { type: 7, flags: 0, stream: 0, payload: new Uint8Array(8) };
  const said = [frameOf({ type: 1, flags: 4, ...call }), frameOf(message), frameOf(goAway)];
  frames.write(Buffer.concat([IDLE_GRPC, ...said]));
  await until(() => frames.isClosed);
  expect(server.ended).toEqual(['CANCELLED']);
});

it('keeps the calls of a connection that sends GOAWAY and then answers', async () => {
  await using server = await startWireServer({ methods: [HOLD], limits: { pingEveryMs: 20, pingTimeoutMs: 60_000 } });
  const client = opened(server.port);
  const stream = openStream(client, '/a.Service/Hold', frame(new Uint8Array(0)));
  await until(() => server.server.callCount === 1);
  client.close();
  let asked = 0;
  client.on('remoteSettings', () => void (asked += 1));
  await until(() => asked === 3);
  expect([stream.closed, server.server.callCount]).toEqual([false, 1]);
  client.destroy();
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
