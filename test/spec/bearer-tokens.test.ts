// Bearer tokens of an OIDC provider are accepted over each interface and refused when they are wrong. Without the
// keys of the provider, a node answers that it cannot decide.
import { exportJWK, exportSPKI, generateKeyPair, importJWK } from 'jose';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { SubscribeEventsRequest } from '../../proto/gen/cairn/v1/database.ts';
import { eventually } from '../support/eventually.ts';
import { outcomeOf } from '../support/grpc-client.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { AUDIENCE, IdentityProvider, unsignedToken } from '../support/identity-provider.ts';
import { begun, INITIALIZE, LIST, READY, send } from '../support/mcp-requests.ts';

const provider = await IdentityProvider.start();
afterAll(() => provider[Symbol.asyncDispose]());
const published = await provider.rotate('key-1');
const tokenSettings = [`--oidc-issuer=${provider.issuer}`, `--oidc-audience=other,${AUDIENCE}`];
const { server, api } = await startGuardedNode(...tokenSettings);
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

const nowS = (): number => Math.floor(Date.now() / 1_000);
const bearer = (token: string): { readonly authorization: string } => ({ authorization: `Bearer ${token}` });
const reading = [`reader:${name}`];

beforeEach(() => provider.answers.clear());

const overGrpc = (metadata: Readonly<Record<string, string>>): Promise<string> =>
  outcomeOf(server.client.send('fetchLatestDatabase', { databaseName: name }, { metadata }));

const overMcp = async (token: string): Promise<number> => (await send(server.mcp, INITIALIZE, bearer(token))).status;

describe('SPEC-AUTH-TOKEN', () => {
  it('a token has the rights of its roles, over HTTP, gRPC and MCP', async () => {
    const token = await provider.token({ roles: reading, email: 'ann@shop.example' });
    expect(jsonOf(await api.get(`/databases/${name}`, bearer(token)))).toMatchObject({ name });
    const refused = errorOf(await api.send(`/databases/${name}`, { method: 'DELETE', headers: bearer(token) }));
    expect(refused.message).toContain('"ann@shop.example" (oidc:ann) lacks the right to administer');
    expect(await overGrpc(bearer(token))).toBe('OK');
    const session = await begun(server.mcp, bearer(token));
    await send(server.mcp, READY, session);
    const call = { name: 'fetch', arguments: { path: `/databases/${name}` } };
    const answer = await send(server.mcp, { ...LIST, method: 'tools/call', params: call }, session);
    expect(answer.text).toContain(name);
  });

  it('one of several audiences is enough, and small clock differences are tolerated', async () => {
    const claims = { roles: reading, aud: ['someone', 'other'], nbf: nowS() + 5, exp: nowS() - 5 };
    expect((await api.get(`/databases/${name}`, bearer(await provider.token(claims)))).status).toBe(200);
  });

  const claims = (): object => {
    return { iss: provider.issuer, aud: AUDIENCE, sub: 'ann', exp: nowS() + 300, roles: ['admin'] };
  };
  const admin = { roles: ['admin'] };
  const anyKey = async () => (await generateKeyPair('ES256', { extractable: true })).privateKey;
  const secret = (text: string): object => ({ header: { alg: 'HS256' }, key: new TextEncoder().encode(text) });
  const wrong: readonly (readonly [string, () => Promise<string>])[] = [
    ['has expired', () => provider.token({ ...admin, exp: nowS() - 11 })],
    ['does not expire', () => provider.token({ ...admin, exp: undefined })],
    ['does not count yet', () => provider.token({ ...admin, nbf: nowS() + 60 })],
    ['is of another issuer', () => provider.token({ ...admin, iss: `${provider.issuer}/` })],
    ['is of no issuer', () => provider.token({ ...admin, iss: undefined })],
    ['is for somebody else', () => provider.token({ ...admin, aud: 'cairn' })],
    ['is for nobody', () => provider.token({ ...admin, aud: undefined })],
    ['is of nobody', () => provider.token({ ...admin, sub: undefined })],
    ['is signed by somebody else', async () => provider.token(admin, { key: await anyKey() })],
    ['names a key that there is not', () => provider.token(admin, { header: { kid: 'key-2' } })],
    ['names a key by a path', () => provider.token(admin, { header: { kid: '../../../../dev/null' } })],
    ['names a key at great length', () => provider.token(admin, { header: { kid: 'k'.repeat(4_000) } })],
    ['is not signed', async () => unsignedToken({ alg: 'none' }, claims())],
    ['is not signed, in other letters', async () => unsignedToken({ alg: 'nOnE', kid: 'key-1' }, claims())],
    ['has no signature', async () => unsignedToken({ alg: 'ES256', kid: 'key-1' }, claims())],
    [
      'is signed with the public key as a secret',
      async () => {
        const key = await importJWK(published, 'ES256', { extractable: true });
        if (key instanceof Uint8Array) throw new TypeError('a public key has two halves');
        return provider.token(admin, secret(await exportSPKI(key)));
      },
    ],
    [
      'brings its own key',
      async () => {
        const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
        return provider.token(admin, { header: { jwk: await exportJWK(publicKey) }, key: privateKey });
      },
    ],
    [
      'says where its key is',
      async () => {
        const elsewhere = { jku: `${provider.issuer}/mine`, x5u: `${provider.issuer}/mine` };
        return provider.token(admin, { header: elsewhere, key: await anyKey() });
      },
    ],
    [
      'has what it says is critical',
      () => provider.token(admin, { header: { crit: ['urgent'], urgent: 1 }, crit: { urgent: true } }),
    ],
    [
      'has had its claims changed',
      async () => {
        const [head, , signature] = (await provider.token({ roles: reading })).split('.');
        return `${head}.${unsignedToken({}, claims()).split('.')[1]}.${signature}`;
      },
    ],
  ];

  it.each(wrong)('a token that %s is refused like any wrong token, over HTTP, gRPC and MCP', async (_how, make) => {
    const token = await make();
    const answer = await api.get(`/databases/${name}`, bearer(token));
    const { code, message, details } = errorOf(answer, { status: 401, code: 'UNAUTHENTICATED' });
    expect([code, message]).toEqual(['UNAUTHENTICATED', 'The credential of this request is not valid']);
    expect(details?.reason).toBe('CredentialRefused');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="cairn", error="invalid_token"');
    expect(await overGrpc(bearer(token))).toBe('UNAUTHENTICATED CredentialRefused');
    expect(await overMcp(token)).toBe(401);
    expect(provider.asked).not.toContain('/mine');
  });

  it('a stream ends when its token expires', async () => {
    // The token has expired, but the node tolerates a clock difference of ten seconds, of which two are left.
    const metadata = bearer(await provider.token({ roles: reading, exp: nowS() - 8 }));
    const request = SubscribeEventsRequest.fromPartial({ databaseName: name });
    const listening = server.client.collect('subscribeEvents', request, { metadata });
    await expect(listening).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await overGrpc(metadata)).toBe('UNAUTHENTICATED CredentialRefused');
  });
});

describe('SPEC-AUTH-TOKEN without a provider that answers', async () => {
  const silent = await IdentityProvider.start();
  afterAll(() => silent[Symbol.asyncDispose]());
  silent.answers.set('/.well-known/openid-configuration', (_request, response) => response.writeHead(500).end());
  const cut = await startGuardedNode(`--oidc-issuer=${silent.issuer}`, `--oidc-audience=${AUDIENCE}`);

  it('a token cannot be checked and gets no 401; a malformed one gets 401, and keys still work', async () => {
    const asked = bearer(await silent.token({ roles: ['reader'] }));
    const answer = await cut.api.get('/databases', asked);
    expect(errorOf(answer, { status: 503, code: 'INTERNAL' }).details?.reason).toBe('IdentityProviderUnavailable');
    expect(answer.headers.get('retry-after')).toBe('2');
    expect((await cut.api.get('/databases', bearer(await silent.token({ exp: 1 })))).status).toBe(401);
    expect((await cut.api.get('/databases', AS_FIRST)).status).toBe(200);
    silent.answers.clear();
    await expect.poll(async () => (await cut.api.get('/databases', asked)).status).toBe(200);
    await eventually(async () => {
      const metrics = await (await fetch(cut.server.metricsOfHttp)).text();
      expect(metrics).toMatch(/^cairn_identity_keys_reads_total\{result="read"\} [1-9]/m);
      expect(metrics).toMatch(/^cairn_identity_keys_reads_total\{result="failed"\} [1-9]/m);
    });
  });
});
