// Goal: clients of a node that is starting are refused, over HTTP with the reason, and its servers take the ports over.
// Method: ports that are held, asked over HTTP and gRPC before and after a server has them.
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { silentLogger } from '#observability';
import { HeldPorts } from '../../../../src/main/ports/held-ports.ts';
import { UNTRIED } from '../../../../src/transport/relay.ts';
import { TestClient } from '../../../support/grpc-client.ts';

const ADDRESS = { host: '127.0.0.1', port: 0 };
const WHY = 'The node is starting: it waits for n2. Retry, or use another node';

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
  expect([early.status, early.headers.get('retry-after'), early.headers.get(UNTRIED)]).toEqual([503, '1', 'true']);
  expect(await early.json()).toEqual({ error: { code: 'INTERNAL', message: WHY, details: { reason: 'Starting' } } });
  const server = createServer((_request, response) => response.end('served'));
  await new Promise<void>((resolve) => server.listen(port.take(), resolve));
  onTestFinished(() => void server.close());
  ports[Symbol.dispose]();
  expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('served');
});

it('answers probes at the port that has them', async () => {
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

it('closes gRPC connections, so that calls fail as UNAVAILABLE', async () => {
  const port = await held().grpc(ADDRESS);
  await using client = new TestClient(`127.0.0.1:${port.port}`);
  const failure = await client.call('fetchLatestDatabase', { databaseName: 'shop' }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'UNAVAILABLE' });
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
