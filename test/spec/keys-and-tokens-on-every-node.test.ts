// API keys and tokens work on two nodes, one of them without a replica, and after a restart.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AS_FIRST, guardedSettings, issueKey } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, errorOf, HttpClient, jsonOf } from '../support/http-client.ts';
import { begun, LIST, READY, send } from '../support/mcp-requests.ts';
import { startServerIn } from '../support/server.ts';
import { testDir } from '../support/test-scope.ts';
import { startGuardedTwoNodes } from '../support/two-nodes.ts';

const KEYS = '/api/v1/auth/keys';
const TOKENS = '/api/v1/auth/tokens';
const DENIED = { status: 403, code: 'PERMISSION_DENIED' };
const { holder, other } = await startGuardedTwoNodes('shop');
const [there, here] = [new HttpClient(holder.http), new HttpClient(other.http)];

type Headers = Readonly<Record<string, string>>;

interface Issued {
  readonly id: string;
  readonly headers: Headers;
}

const keyWith = (...roles: readonly string[]): Promise<Issued> => issueKey(there, ...roles);

const asked = (roles: readonly string[], by: Headers, more: object = {}, at = there): Promise<Answer> =>
  at.post(TOKENS, { name: 'agent', roles, ...more }, by);

async function tokenWith(roles: readonly string[], by: Headers, more: object = {}): Promise<Issued> {
  const answer = await asked(roles, by, more);
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  const { id, token } = jsonOf(answer) as Record<'id' | 'token', string>;
  return { id, headers: { authorization: `Bearer ${token}` } };
}

const statusOf = async (headers: Headers, at = there): Promise<number> =>
  (await at.get('/databases/shop', headers)).status;
const writtenBy = (headers: Headers, id: string): Promise<Answer> =>
  here.post('/databases/shop/events', { events: [cloudEvent(id)] }, headers);

describe('SPEC-AUTH-KEYS on two nodes', () => {
  it('a key that one node has issued works at once on the other, over HTTP and gRPC', async () => {
    for (const [by, at] of [
      [there, other],
      [here, holder],
    ] as const) {
      const { headers } = await issueKey(by, 'reader:shop');
      expect((await new HttpClient(at.http).get('/databases/shop', headers)).status).toBe(200);
      const { databases } = await at.client.send('fetchCatalog', {}, { metadata: headers });
      expect(databases.map(({ name }) => name)).toEqual(['shop']);
    }
  });

  it('a node without a copy passes on the caller, and refuses forbidden requests by itself', async () => {
    const { headers } = await keyWith('reader:shop');
    errorOf(await writtenBy(headers, 'not-by-reader'), DENIED);
    const writer = await issueKey(here, 'writer:shop');
    const written = jsonOf(await writtenBy(writer.headers, 'by-writer')) as { readonly revision: number };
    const list = jsonOf(await here.get('/databases', headers));
    expect(list).toMatchObject({ databases: [{ name: 'shop', latest_revision: written.revision }] });
    const stranger = await issueKey(here, 'reader:bank');
    expect(jsonOf(await here.get('/databases', stranger.headers))).toEqual({ databases: [] });
  });

  it('a key that is revoked on one node is refused on the other', async () => {
    const { id, headers } = await keyWith('reader:shop');
    expect(await statusOf(headers, here)).toBe(200);
    const revoked = await here.send(`${KEYS}/${id}`, { method: 'DELETE', headers: AS_FIRST });
    expect([revoked.status, await statusOf(headers, here)]).toEqual([204, 401]);
    // A confirmed read of the catalog applies the decisions of the other node.
    await there.get(KEYS, AS_FIRST);
    expect(await statusOf(headers)).toBe(401);
  });

  it('a key whose secret the client has made is issued once, over both nodes', async () => {
    const id = 'fedcba9876543210';
    const hash = Buffer.alloc(32, 7);
    const request = { name: 'ci', roles: ['reader:shop'], expiresAt: undefined, id, secretSha256: hash };
    const asFirst = { metadata: AS_FIRST };
    const first = await holder.client.send('issueApiKey', request, asFirst);
    expect(first.apiKey?.secrets.map(({ sha256 }) => sha256)).toEqual([hash]);
    expect(await other.client.send('issueApiKey', request, asFirst)).toEqual(first);
    const rotation = { id, secretSha256: Buffer.alloc(32, 8) };
    const rotated = await other.client.send('rotateApiKey', rotation, asFirst);
    expect(await holder.client.send('rotateApiKey', rotation, asFirst)).toEqual(rotated);
    await holder.client.send('revokeApiKey', { id, expiresAt: undefined }, asFirst);
    const { apiKeys } = await other.client.send('listApiKeys', {}, asFirst);
    expect(apiKeys.filter((key) => key.id === id)).toEqual([]);
  });

  it('a key with a limit of databases creates at most that many over all nodes, and can still use them', async () => {
    const { id, headers } = await keyWith('admin:acme-*:1');
    expect(jsonOf(await here.get(`${KEYS}/${id}`, AS_FIRST))).toMatchObject({ roles: ['admin:acme-*:1'] });
    const create = (at: HttpClient, name: string): Promise<Answer> => at.post(`/api/v1/databases/${name}`, {}, headers);
    expect((await create(here, 'acme-1')).status).toBe(201);
    const full = errorOf(await create(there, 'acme-2'), { status: 507, code: 'RESOURCE_EXHAUSTED' });
    const told = [full.details?.reason, full.message];
    expect(told).toEqual(['DatabaseCountQuota', expect.stringContaining('admin:acme-*:1')]);
    const byGrpc = other.client.send('createDatabase', { databaseName: 'acme-2' }, { metadata: headers });
    await expect(byGrpc).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    expect((await there.post('/databases/acme-1/events', { events: [cloudEvent('a')] }, headers)).status).toBe(200);
    expect((await there.send('/databases/acme-1', { method: 'DELETE', headers })).status).toBeLessThan(300);
    expect((await create(there, 'acme-2')).status).toBe(201);
    expect((await there.send(`${KEYS}/${id}`, { method: 'DELETE', headers: AS_FIRST })).status).toBe(204);
  });

  it('a key works after a restart of its node, and a revoked one does not', async () => {
    const dir = testDir();
    const settings = guardedSettings(dir);
    const issued = await (async () => {
      await using server = await startServerIn(join(dir, 'data'), ...settings);
      const api = new HttpClient(server.http);
      const keys = [await issueKey(api, 'reader'), await issueKey(api, 'reader')] as const;
      await api.send(`${KEYS}/${keys[1].id}`, { method: 'DELETE', headers: AS_FIRST });
      return keys;
    })();
    await using server = await startServerIn(join(dir, 'data'), ...settings);
    const api = new HttpClient(server.http);
    const [kept, revoked] = await Promise.all(issued.map(({ headers }) => api.get('/databases', headers)));
    expect([kept?.status, revoked?.status, kept?.text]).toEqual([200, 401, expect.any(String)]);
  });
});

describe('SPEC-AUTH-TOKENS', () => {
  it('a token is issued by a caller that has its rights, with an expiry, and shown once', async () => {
    const key = await keyWith('writer:shop');
    const before = Date.now();
    const answer = await asked(['reader:shop'], key.headers);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const issued = jsonOf(answer) as Record<string, string>;
    expect(issued).toEqual({
      token: expect.stringMatching(/^cairn_[\da-f]{16}_[\da-f]{72}$/),
      id: expect.stringMatching(/^[\da-f]{16}$/),
      name: 'agent',
      roles: ['reader:shop'],
      created_at: expect.any(String),
      created_by: `key:${key.id}`,
      expires_at: expect.any(String),
    });
    const lifeMs = Date.parse(issued['expires_at'] ?? '') - Date.parse(issued['created_at'] ?? '');
    expect(lifeMs).toBe(900_000);
    expect(Date.parse(issued['created_at'] ?? '')).toBeGreaterThanOrEqual(before);
    const { token: _token, ...shown } = issued;
    expect(jsonOf(await here.get(answer.headers.get('location') ?? '', key.headers))).toEqual(shown);
    expect(jsonOf(await here.get(TOKENS, key.headers))).toEqual({ tokens: [shown] });
  });

  it('a token has exactly the rights of its roles, on every node, over HTTP, gRPC and MCP', async () => {
    const key = await keyWith('writer:shop', 'reader');
    const reads = await tokenWith(['reader:shop'], key.headers);
    const writes = await tokenWith(['writer:shop'], key.headers);
    expect([await statusOf(reads.headers), await statusOf(reads.headers, here)]).toEqual([200, 200]);
    errorOf(await writtenBy(reads.headers, 'refused'), DENIED);
    expect((await writtenBy(writes.headers, 'written')).status).toBe(200);
    const { databases } = await other.client.send('fetchCatalog', {}, { metadata: reads.headers });
    expect(databases.map(({ name }) => name)).toEqual(['shop']);
    const session = await begun(other.mcp, reads.headers);
    await send(other.mcp, READY, session);
    const tool = async (given: object): Promise<string> => {
      const call = { ...LIST, method: 'tools/call', params: { name: 'fetch', arguments: given } };
      return (await send(other.mcp, call, session)).text;
    };
    const body = { events: [cloudEvent('by-mcp')] };
    expect(await tool({ method: 'POST', path: '/api/v1/db/shop', body })).toContain('status 403');
    expect(await tool({ path: '/db/shop/latest' })).toContain('shop');
  });

  it('a transaction of a token names the token and the key that issued it', async () => {
    const key = await keyWith('writer:shop');
    const token = await tokenWith(['writer:shop'], key.headers);
    const transaction = { transaction_id: '0193a1b2-c3d4-7e5f-8a9b-100000000077', events: [cloudEvent('on-behalf')] };
    expect((await here.post('/api/v1/db/shop', transaction, token.headers)).status).toBe(200);
    const found = await there.get(`/api/v1/db/shop/transaction/${transaction.transaction_id}`, AS_FIRST);
    expect(found.text).toContain(`token:${token.id}`);
    expect(found.text).toContain(`"cairn.issued_by":"key:${key.id}"`);
  });

  it('a token can issue neither tokens nor keys', async () => {
    const { headers } = await tokenWith(['admin'], AS_FIRST);
    expect((await there.get(KEYS, headers)).status).toBe(200);
    errorOf(await asked(['reader:shop'], headers), DENIED);
    errorOf(await there.post(KEYS, { name: 'x', roles: ['reader'] }, headers), DENIED);
    const key = await keyWith('reader');
    errorOf(await there.post(`${KEYS}/${key.id}/rotate`, {}, headers), DENIED);
  });

  it('a token ends when it expires, when its key ends, and when it is revoked', async () => {
    const key = await keyWith('reader:shop');
    const short = await tokenWith(['reader:shop'], key.headers, { expires_in_seconds: 1 });
    const revoked = await tokenWith(['reader:shop'], key.headers);
    const orphan = await tokenWith(['reader:shop'], key.headers);
    for (const { headers } of [short, revoked, orphan]) expect(await statusOf(headers, here)).toBe(200);
    const gone = await here.send(`${TOKENS}/${revoked.id}`, { method: 'DELETE', headers: key.headers });
    expect([gone.status, await statusOf(revoked.headers, here)]).toEqual([204, 401]);
    await expect.poll(() => statusOf(revoked.headers)).toBe(401);
    await there.send(`${KEYS}/${key.id}`, { method: 'DELETE', headers: AS_FIRST });
    expect(await statusOf(orphan.headers)).toBe(401);
    await expect.poll(() => statusOf(orphan.headers, here)).toBe(401);
    await expect.poll(() => statusOf(short.headers)).toBe(401);
  });

  it('only its issuer and an admin of all databases can see and revoke a token', async () => {
    const [key, stranger] = [await keyWith('reader:shop'), await keyWith('admin:shop', 'reader')];
    const token = await tokenWith(['reader:shop'], key.headers);
    for (const method of ['GET', 'DELETE']) {
      const answer = await there.send(`${TOKENS}/${token.id}`, { method, headers: stranger.headers });
      expect(errorOf(answer, { status: 404, code: 'NOT_FOUND' }).details?.reason).toBe('TokenNotFound');
    }
    expect(jsonOf(await there.get(TOKENS, stranger.headers))).toEqual({ tokens: [] });
    expect((await there.get(TOKENS, AS_FIRST)).text).toContain(token.id);
    expect((await there.get(KEYS, AS_FIRST)).text).not.toContain(token.id);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const) {
      const answer = await there.send(`${KEYS}/${token.id}${path}`, { method, headers: AS_FIRST });
      expect(errorOf(answer, { status: 404, code: 'NOT_FOUND' }).details?.reason).toBe('ApiKeyNotFound');
    }
    expect((await there.send(`${TOKENS}/${token.id}`, { method: 'DELETE', headers: AS_FIRST })).status).toBe(204);
    expect(await statusOf(token.headers)).toBe(401);
  });

  it.each([
    [{ roles: ['root'] }, ['roles[0]']],
    [{ roles: ['reader'], expires_in_seconds: 0 }, ['expires_in_seconds']],
    [{ roles: ['reader'], expires_in_seconds: 3_601 }, ['expires_in_seconds']],
    [{ roles: ['reader'], expires_at: '2999-01-01T00:00:00Z' }, ['expires_at']],
  ])('%j is refused', async (body, fields) => {
    const answer = await there.post(TOKENS, { name: 'x', ...body }, AS_FIRST);
    const failure = errorOf(answer, { status: 400, code: 'INVALID_ARGUMENT' });
    expect(failure.details?.violations?.map(({ field }) => field)).toEqual(fields);
  });
});
