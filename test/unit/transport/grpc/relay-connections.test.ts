// Goal: a relayed call continues while the other node drains, as long as that node answers. Method: an HTTP/2 server
// that sends GOAWAY during a call, and answers the call after it was probed.
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { listen } from '#base';
import { silentLogger } from '#observability';
import { RelayConnections } from '../../../../src/transport/grpc/relay-connections.ts';

const HOST = '127.0.0.1';

it('keeps the calls of a connection after a GOAWAY while the other node answers probes', async () => {
  const server = createServer({ settings: { enablePush: false } });
  const port = await listen(server, { host: HOST, port: 0 }, { what: 'gRPC', setting: '' }, silentLogger);
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.session?.close();
    stream.session?.once('remoteSettings', () => stream.respond({ ':status': 200 }, { endStream: true }));
  });
  const connections = new RelayConnections(() => {
    throw new Error('these nodes have no TLS');
  });
  onTestFinished(() => {
    connections.close();
    server.close();
  });
  const place = { grpc: `${HOST}:${port}`, http: `http://${HOST}` };
  const stream = await connections.open(place, { ':path': '/a.Service/Hold' }, new AbortController().signal);
  if (stream === undefined) throw new Error('the node answers');
  stream.on('error', () => undefined).resume();
  const answer = await Promise.race([once(stream, 'response'), once(stream, 'close')]);
  expect(answer[0]).toMatchObject({ ':status': 200 });
});
