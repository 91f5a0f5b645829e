// Goal: clients of a node that is starting are refused and know why, and its servers take the ports over.
// Method: ports that are held, asked over HTTP and gRPC before and after a server has them.
import { createServer } from 'node:http';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '#observability';
import { HeldPorts } from '../../../src/main/held-ports.ts';
import { listenOptions } from '../../../src/transport/held-port.ts';
import { eventually } from '../../support/eventually.ts';
import { TestClient } from '../../support/grpc-client.ts';
import { frameOf, grpcHeaders, grpcHeadersWithTable, openFrames, TABLE_REFERENCE } from '../../support/http2-frames.ts';

const ADDRESS = { host: '127.0.0.1', port: 0 };
const RST_STREAM = 3;
const WHY = 'The node is starting: it waits for n2. Retry, or ask another node';

// A port of gRPC loads it with its first connection; on a busy machine the client of a test would not wait for that.
beforeAll(() => import('#transport').then(() => undefined));

function held(): HeldPorts {
  const ports = new HeldPorts({ logger: silentLogger, secure: undefined });
  onTestFinished(() => ports[Symbol.dispose]());
  ports.reason = 'it waits for n2';
  return ports;
}

it('answers 503 until a server takes the port over, and then nothing more', async () => {
  const ports = held();
  const port = await ports.http('HTTP', ADDRESS);
  const url = `http://127.0.0.1:${port.port}/databases`;
  const early = await fetch(url, { method: 'POST', body: 'x'.repeat(100_000) });
  expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await early.json()).toEqual({ error: { code: 'INTERNAL', message: WHY, details: { reason: 'Starting' } } });
  const server = createServer((_request, response) => response.end('served'));
  await new Promise<void>((resolve) => server.listen(listenOptions(ADDRESS, port), resolve));
  onTestFinished(() => void server.close());
  ports[Symbol.dispose]();
  expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('served');
});

it('answers probes where it is told which', async () => {
  const ports = held();
  const probes = { '/livez': [], '/startupz': [], '/readyz': [{ name: 'cluster', fault: () => WHY }] };
  const [http, mcp] = [await ports.http('HTTP', ADDRESS, probes), await ports.http('MCP', ADDRESS)];
  const ask = async (port: number, path: string): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return [answer.status, await answer.text()];
  };
  expect(await ask(http.port, '/livez')).toEqual([200, 'ok']);
  expect(await ask(http.port, '/readyz')).toEqual([503, `[-]cluster failed: ${WHY}\nreadyz check failed\n`]);
  expect(await ask(http.port, '/health')).toEqual([503, expect.stringContaining('Starting')]);
  expect(await ask(mcp.port, '/livez')).toEqual([503, expect.stringContaining('Starting')]);
});

it('answers UNAVAILABLE over gRPC', async () => {
  const port = await held().grpc(ADDRESS);
  await using client = new TestClient(`127.0.0.1:${port.port}`);
  const failure = await client.call('fetchLatestDatabase', { databaseName: 'shop' }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(WHY) });
});

it('closes a gRPC connection at the first reference to a table of HPACK (S4)', async () => {
  const { port } = await held().grpc(ADDRESS);
  await using frames = await openFrames(port);
  const payload = grpcHeadersWithTable('/a.B/C', Buffer.of(TABLE_REFERENCE));
  frames.write(frameOf({ type: 1, flags: 5, stream: 1, payload }));
  await eventually(() => expect(frames.isClosed).toBe(true));
});

it('answers gRPC requests with 1.8 MiB of headers on one connection', async () => {
  const { port } = await held().grpc(ADDRESS);
  await using frames = await openFrames(port);
  // A name of one byte, and 15,000 as a length of 7 bits (RFC 7541, 6.2.2 and 5.1).
  const filler = Buffer.concat([Buffer.of(0, 1, 0x78, 0x7f, 0x99, 0x74), Buffer.alloc(15_000, 'a')]);
  const payload = Buffer.concat([grpcHeaders('/a.B/C'), filler]);
  for (let stream = 1; stream < 250; stream += 2) {
    frames.write(frameOf({ type: 1, flags: 5, stream, payload }));
    await eventually(() => expect(frames.received.some((one) => one.type === 1 && one.stream === stream)).toBe(true), {
      interval: 1,
    });
  }
});

it('answers gRPC requests behind one that was cancelled in the same packet', async () => {
  const { port } = await held().grpc(ADDRESS);
  await using frames = await openFrames(port);
  const request = (stream: number): Buffer => frameOf({ type: 1, flags: 5, stream, payload: grpcHeaders('/a.B/C') });
  const cancelled = frameOf({ type: RST_STREAM, flags: 0, stream: 1, payload: Buffer.of(0, 0, 0, 8) });
  frames.write(Buffer.concat([request(1), cancelled, request(3)]));
  await eventually(() => expect(frames.received.some(({ type, stream }) => type === 1 && stream === 3)).toBe(true));
});

it('names the setting of a port that is taken', async () => {
  const { port } = await held().http('MCP', ADDRESS);
  const message = `Cannot listen for MCP on 127.0.0.1:${port} (--mcp-port): listen EADDRINUSE`;
  await expect(held().http('MCP', { ...ADDRESS, port })).rejects.toThrow(message);
});

it('closes the ports that no server has taken', async () => {
  const ports = held();
  const port = await ports.http('MCP', ADDRESS);
  ports[Symbol.dispose]();
  await expect(fetch(`http://127.0.0.1:${port.port}/`)).rejects.toThrow('fetch failed');
});
