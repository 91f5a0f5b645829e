// MCP clients without a token find the identity provider by protected resource metadata, and no request can change what
// it names (TC7).
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  selectResourceURL,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { afterAll, describe, expect, it } from 'vitest';
import { startGuardedNode } from '../support/guarded-node.ts';
import { AUDIENCE, IdentityProvider } from '../support/identity-provider.ts';
import { BOTH, type Headers, INITIALIZE } from '../support/mcp-requests.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';

const provider = await IdentityProvider.start();
afterAll(() => provider[Symbol.asyncDispose]());
const byTokens = [`--oidc-issuer=${provider.issuer}`, `--oidc-audience=${AUDIENCE}`];
const { server } = await startGuardedNode(...byTokens);
const PLACE = 'https://shop.example/cairn/mcp';
const { server: behind } = await startGuardedNode(...byTokens, `--mcp-url=${PLACE}`, '--rate-limit-per-second=1000');
const { server: byKeys } = await startGuardedNode();

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

function describing(resource: string): object {
  return { resource, authorization_servers: [provider.issuer], bearer_methods_supported: ['header'] };
}

function initialize(url: string, headers: Headers = {}): Promise<Response> {
  const sent = { 'content-type': 'application/json', accept: BOTH, ...headers };
  return fetch(url, { method: 'POST', headers: sent, body: JSON.stringify(INITIALIZE) });
}

async function read(url: string): Promise<readonly [number, unknown]> {
  const answer = await fetch(url);
  return [answer.status, await answer.json()];
}

describe('SPEC-AUTH-MCP-METADATA', () => {
  it('leads an MCP client from its refusal to the provider', async () => {
    const refused = await initialize(server.mcp);
    expect(refused.status).toBe(401);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
    expect(resourceMetadataUrl?.href).toBe(`${server.mcp}${WELL_KNOWN}`);
    const resource = `${server.mcp}/`;
    for (const options of [{ resourceMetadataUrl: resourceMetadataUrl ?? '' }, {}]) {
      const metadata = await discoverOAuthProtectedResourceMetadata(server.mcp, options);
      expect(metadata).toEqual(describing(resource));
      // This throws when the metadata names another resource than the requested one.
      const chosen = await selectResourceURL(server.mcp, {} as Parameters<typeof selectResourceURL>[1], metadata);
      expect(chosen?.href).toBe(resource);
    }
  });

  it('is named in every refusal, beside the fault of a token', async () => {
    const wrong = await initialize(server.mcp, { authorization: `Bearer ${await provider.token({ aud: 'other' })}` });
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="cairn", error="invalid_token", resource_metadata="${server.mcp}${WELL_KNOWN}"`,
    ]);
    const right = await initialize(server.mcp, { authorization: `Bearer ${await provider.token()}` });
    expect([right.status, right.headers.get('www-authenticate')]).toEqual([200, null]);
  });

  it('describes the URL of the settings, at the paths with and without its path, and at no other', async () => {
    const challenge = (await initialize(behind.mcp)).headers.get('www-authenticate');
    expect(challenge).toBe(`Bearer realm="cairn", resource_metadata="https://shop.example${WELL_KNOWN}/cairn/mcp"`);
    for (const path of ['', '/cairn/mcp'])
      expect(await read(`${behind.mcp}${WELL_KNOWN}${path}`)).toEqual([200, describing(PLACE)]);
    for (const path of ['/', '/cairn', '/cairn/mcp/', '/other', '%2fcairn%2fmcp', '/cairn/../..'])
      expect((await read(`${behind.mcp}${WELL_KNOWN}${path}`))[0]).toBe(404);
    expect((await read(`${server.mcp}${WELL_KNOWN}/cairn/mcp`))[0]).toBe(404);
  });

  it('does not depend on the Host or forwarded headers of a request', async () => {
    const own = new URL(server.mcp);
    const document = JSON.stringify(describing(`${server.mcp}/`));
    const hosts = ['evil.example', `${own.host}@evil.example`, `evil.example:${own.port}`];
    const others = ['X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example', 'X-Forwarded-Prefix: /evil'];
    for (const host of hosts) {
      for (const [method, target, told] of [
        ['GET', WELL_KNOWN, document],
        ['GET', `http://evil.example${WELL_KNOWN}`, document],
        ['POST', '/', `${server.mcp}${WELL_KNOWN}`],
      ] as const) {
        const lines = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...others];
        const [reply] = parseReplies(await exchange(server.mcp, [...lines, 'Content-Length: 0', '', ''].join('\r\n')));
        const said = JSON.stringify([...(reply?.headers ?? [])]) + reply?.body;
        expect(said).not.toContain('evil');
        expect(said).toContain(told);
      }
    }
    expect(await read(`${server.mcp}${WELL_KNOWN}`)).toEqual([200, describing(`${server.mcp}/`)]);
  });

  it('can be read but not written, and counts for the rate limit of its client', async () => {
    const head = await fetch(`${behind.mcp}${WELL_KNOWN}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, 'application/json', '']);
    expect(head.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
    for (const [method, status] of [
      ['POST', 405],
      ['DELETE', 405],
      ['OPTIONS', 204],
    ] as const) {
      const answer = await fetch(`${server.mcp}${WELL_KNOWN}`, { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([status, 'GET, HEAD, OPTIONS']);
    }
  });

  it('does not exist without a provider', async () => {
    const refused = await initialize(byKeys.mcp);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="cairn"']);
    expect((await read(`${byKeys.mcp}${WELL_KNOWN}`))[0]).toBe(404);
    await expect(discoverOAuthProtectedResourceMetadata(byKeys.mcp)).rejects.toThrow(/does not implement/);
  });
});
