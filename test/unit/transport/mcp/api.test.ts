// Goal: tools use the HTTP API over kept connections, which the server may close at any time. Method: a server that
// resets connections.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Api, type ApiRequest } from '../../../../src/transport/mcp/api.ts';

const ASKED = { path: '/', accept: '*/*', authorization: undefined };
const { signal } = new AbortController();

/** Starts a server that resets each connection at its second request. */
async function startResetting(): Promise<{ readonly api: Api; readonly seen: string[] }> {
  const seen: string[] = [];
  const answered = new WeakSet<object>();
  const server = createServer(({ method = '', socket }, response) => {
    seen.push(method);
    if (answered.has(socket)) return socket.resetAndDestroy();
    answered.add(socket);
    response.end('here');
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const api = new Api(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => {
    throw new Error('This API speaks no TLS');
  });
  onTestFinished(() => {
    api.close();
    server.close();
  });
  return { api, seen };
}

async function ask(api: Api, method: ApiRequest['method']): Promise<string> {
  return (await api.ask({ ...ASKED, method }, signal)).text;
}

it('a read is sent again when the kept connection is reset', async () => {
  const { api, seen } = await startResetting();
  expect([await ask(api, 'GET'), await ask(api, 'GET')]).toEqual(['here', 'here']);
  expect(seen).toEqual(['GET', 'GET', 'GET']);
});

it('a write is not repeated', async () => {
  const { api, seen } = await startResetting();
  await ask(api, 'GET');
  await expect(ask(api, 'POST')).rejects.toThrow('The HTTP API cannot be reached; try again');
  expect(seen).toEqual(['GET', 'POST']);
});
