// Both MCP SDKs get, use and refresh a token by OAuth, behind a proxy, with a clock that the test controls.
import { createServer, request as forward, type Server } from 'node:http';
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AuthorizationServer } from '../support/authorization-server.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { uniqueName } from '../support/http-client.ts';
import { IdentityProvider } from '../support/identity-provider.ts';
import { INITIALIZE, send } from '../support/mcp-requests.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

/** A proxy that serves MCP at `/mcp` and forwards the paths that name the identity provider, as docs/mcp.md says. */
const proxy = createServer();
const place = `${await listening(proxy)}/mcp`;
const provider = await IdentityProvider.start();
const authorization = new AuthorizationServer(provider);
const settings = [`--oidc-issuer=${provider.issuer}`, `--oidc-audience=${place}`, `--mcp-url=${place}`];
const { server, api } = await startGuardedNode(...settings);
proxy.on('request', (request, response) => {
  const { url = '', method = '', headers } = request;
  const path = url === '/mcp' ? '/' : url;
  const { host: _ofProxy, ...rest } = headers;
  const passed = forward(`${server.mcp}${path}`, { method, headers: rest }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  response.on('close', () => passed.destroy());
  request.pipe(passed);
});
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
afterAll(async () => {
  vi.useRealTimers();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  await provider[Symbol.asyncDispose]();
});

beforeEach(() => {
  authorization.claims = { roles: [`reader:${name}`] };
  authorization.grants.length = 0;
  authorization.faults.length = 0;
  provider.asked.length = 0;
});

async function listening(each: Server): Promise<string> {
  await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
  const address = each.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a TCP address');
  return `http://127.0.0.1:${address.port}`;
}

type Told = Required<OAuthClientProvider>;
type Known = { [K in 'clientInformation' | 'tokens' | 'discoveryState']?: Awaited<ReturnType<Told[K]>> };

function remembering(): OAuthClientProvider & { readonly known: Known; readonly sentTo: () => URL } {
  const known: Known = {};
  let [verifier, sentTo] = ['', new URL(REDIRECT)];
  return {
    known,
    sentTo: () => sentTo,
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'test', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' },
    state: () => 'state-of-the-test',
    clientInformation: () => known.clientInformation,
    saveClientInformation: (client) => void Object.assign(known, { clientInformation: client }),
    tokens: () => known.tokens,
    saveTokens: (tokens) => void Object.assign(known, { tokens }),
    redirectToAuthorization: (url) => {
      sentTo = url;
    },
    saveCodeVerifier: (given) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (discoveryState) => void Object.assign(known, { discoveryState }),
    discoveryState: () => known.discoveryState,
  };
}

type Remembering = ReturnType<typeof remembering>;

interface Connected {
  call(): Promise<string>;
  close(): Promise<void>;
}

interface Sdk {
  readonly connect: (memory: Remembering) => Promise<Connected>;
  readonly finish: (memory: Remembering, brought: URLSearchParams) => Promise<void>;
}

const READ = { name: 'fetch', arguments: { path: `/databases/${name}` } };
const ME = { name: 'test', version: '1' };

const SDKS: readonly (readonly [string, Sdk])[] = [
  [
    'of today',
    {
      connect: async (memory) => {
        const client = new Client(ME);
        await client.connect(new StreamableHTTPClientTransport(new URL(place), { authProvider: memory }));
        return { call: async () => JSON.stringify(await client.callTool(READ)), close: () => client.close() };
      },
      finish: (memory, brought) =>
        new StreamableHTTPClientTransport(new URL(place), { authProvider: memory }).finishAuth(brought),
    },
  ],
  [
    'before it',
    {
      connect: async (memory) => {
        const client = new OlderClient(ME);
        await client.connect(new OlderTransport(new URL(place), { authProvider: memory }));
        return { call: async () => JSON.stringify(await client.callTool(READ)), close: () => client.close() };
      },
      finish: (memory, brought) =>
        new OlderTransport(new URL(place), { authProvider: memory }).finishAuth(brought.get('code') ?? ''),
    },
  ],
];

async function consented({ sentTo }: Remembering): Promise<URLSearchParams> {
  const answer = await fetch(sentTo(), { redirect: 'manual' });
  return new URL(answer.headers.get('location') ?? '').searchParams;
}

describe.each(SDKS)('SPEC-AUTH-MCP-METADATA: the SDK %s', (_which, { connect, finish }) => {
  it('gets a token after a refusal, calls a tool, and gets another token when the first has expired', async () => {
    const memory = remembering();
    await expect(connect(memory)).rejects.toThrow(/unauthorized/i);
    expect(provider.asked).toEqual(['/.well-known/oauth-authorization-server', '/register']);
    const asked = memory.sentTo().searchParams;
    expect([asked?.get('resource'), asked?.get('code_challenge_method')]).toEqual([place, 'S256']);
    await finish(memory, await consented(memory));
    const client = await connect(memory);
    expect(await client.call()).toContain(name);
    expect(authorization.grants).toEqual([{ kind: 'authorization_code', resource: place }]);
    const first = memory.known.tokens?.access_token ?? '';
    // The lifetime of five minutes, the tolerated clock difference of ten seconds, and one second more.
    vi.setSystemTime(Date.now() + 311_000);
    expect((await send(place, INITIALIZE, { authorization: `Bearer ${first}` })).status).toBe(401);
    expect(await client.call()).toContain(name);
    expect(authorization.grants.slice(1)).toEqual([{ kind: 'refresh_token', resource: place }]);
    expect([memory.known.tokens?.access_token === first, authorization.faults]).toEqual([false, []]);
    await client.close();
  });
});
