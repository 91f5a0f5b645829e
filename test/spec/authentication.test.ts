// With authentication on, every route and RPC except the probes requires a valid credential. A valid tag (ETag) gives
// no access.
import { describe, expect, it } from 'vitest';
import { EventStoreService } from '../../proto/gen/cairn/v1/event_store.ts';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { eventually } from '../support/eventually.ts';
import { GrpcFailure, type StreamName, type UnaryName } from '../support/grpc-client.ts';
import { AS_FIRST, FIRST_KEY, issueKey } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, errorOf, uniqueName } from '../support/http-client.ts';
import { begun, INITIALIZE, LIST, READY, send } from '../support/mcp-requests.ts';
import { RawGrpc, replyOn } from '../support/raw-grpc.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';

const { server, api } = await sharedGuardedNode();
const { host } = new URL(server.http);
const name = uniqueName();
const UNAUTHENTICATED = { status: 401, code: 'UNAUTHENTICATED' };
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

const pathOf = (path: string): string => path.replaceAll('{database}', name).replaceAll(/\{\w+\}/g, '1');
const MISSING = 'Bearer realm="cairn"';
const INVALID = 'Bearer realm="cairn", error="invalid_token"';

describe('SPEC-AUTH-REQUIRED over HTTP', () => {
  it.each(ROUTES.filter(({ isForAnybody }) => isForAnybody !== true))(
    '$method $path is refused without a credential, and with one that is not valid',
    async ({ method, path }) => {
      const without = await api.send(pathOf(path), { method });
      expect(errorOf(without, UNAUTHENTICATED).details?.reason).toBe('CredentialMissing');
      expect(without.headers.get('www-authenticate')).toBe(MISSING);
      for (const headers of [
        { 'x-api-key': 'x' },
        { 'x-api-key': `${FIRST_KEY} x` },
        { authorization: `Bearer ${FIRST_KEY}x` },
        { authorization: `Basic ${FIRST_KEY}` },
      ] as unknown as readonly Record<string, string>[]) {
        const wrong = await api.send(pathOf(path), { method, headers });
        expect(errorOf(wrong, UNAUTHENTICATED).message).not.toContain(name);
      }
    },
  );

  it('only /health, probes, OPTIONS and the assets of pages are answered without a credential', async () => {
    const open = ROUTES.filter(({ isForAnybody }) => isForAnybody === true).map(({ path }) => path);
    expect(open).toEqual(['/health', '/livez', '/readyz', '/startupz', '/assets/{file}']);
    expect(await api.get('/health')).toMatchObject({ status: 200, text: 'OK' });
    const refusal = await api.get('/', { accept: 'text/html' });
    expect(refusal.status).toBe(401);
    const [, style = ''] = /href="(\/assets\/[^"]+\.css)"/.exec(refusal.text) ?? [];
    expect((await api.get(style)).status).toBe(200);
    const there = await api.send(`/db/${name}/1`, { method: 'OPTIONS' });
    const absent = await api.send('/db/absent/1', { method: 'OPTIONS' });
    expect([there.status, absent.status]).toEqual([204, 204]);
    expect(there.headers.get('allow')).toBe(absent.headers.get('allow'));
  });

  it('a refusal is the same for an existing database, a missing one, and an unknown route', async () => {
    const paths = [`/databases/${name}`, '/databases/absent', '/nowhere', `/db/${name}/999`, `/db//${name}`];
    const answers = await Promise.all(paths.map((path) => api.get(path)));
    // A raw connection sends these paths unchanged; `fetch` would resolve the dots first.
    for (const odd of [`/databases/%2e%2e/${name}`, `/databases/${name}/../${name}`, `/health/../databases/${name}`]) {
      const request = [`GET ${odd} HTTP/1.1`, `Host: ${host}`, 'Connection: close', '', ''];
      const [reply] = parseReplies(await exchange(server.http, request.join('\r\n')));
      expect([odd, reply?.status, reply?.body]).toEqual([odd, 401, answers[0]?.text]);
    }
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });

  it('SPEC-AUTH-KEY: a header that is sent twice is refused, in any spelling (U2)', async () => {
    const twice = async (...lines: readonly string[]): Promise<number | undefined> => {
      const head = [`GET /databases/${name} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...lines, '', ''];
      return parseReplies(await exchange(server.http, head.join('\r\n')))[0]?.status;
    };
    expect(await twice(`X-API-Key: ${FIRST_KEY}`)).toBe(200);
    expect(await twice(`authorization: bEARER ${FIRST_KEY}`)).toBe(200);
    expect(await twice(`X-API-Key:\t ${FIRST_KEY} `)).toBe(200);
    expect(await twice(`X-API-Key: ${FIRST_KEY}`, `x-api-key: ${FIRST_KEY}`)).toBe(401);
    expect(await twice(`Authorization: Bearer ${FIRST_KEY}`, 'AUTHORIZATION: Bearer x')).toBe(401);
    expect(await twice(`X-API-Key : ${FIRST_KEY}`)).toBe(400);
    expect(await twice(`X_API_Key: ${FIRST_KEY}`)).toBe(401);
  });

  it('SPEC-AUTH-KEY: with both headers only X-API-Key counts, over HTTP and gRPC', async () => {
    const basic = `Basic ${Buffer.from('ann:wrong').toString('base64')}`;
    for (const authorization of ['Bearer wrong', basic, 'Digest wrong', `Bearer ${FIRST_KEY}`]) {
      const asked = { ...AS_FIRST, authorization };
      expect([authorization, (await api.get('/databases', asked)).status]).toEqual([authorization, 200]);
      await server.client.send('fetchCatalog', {}, { metadata: asked });
      const wrong = { 'x-api-key': 'wrong', authorization };
      errorOf(await api.get('/databases', wrong), UNAUTHENTICATED);
      await expect(server.client.send('fetchCatalog', {}, { metadata: wrong })).rejects.toThrow(GrpcFailure);
    }
  });

  it('a request without a credential is refused without 100 Continue', async () => {
    const head = `POST /api/v1/db HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
    const expecting = `${head}Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n`;
    const replies = parseReplies(await exchange(server.http, expecting));
    expect(replies.map(({ status }) => status)).toEqual([401]);
  });

  it('an answer without its own Cache-Control has no-store', async () => {
    for (const path of ['/', '/databases', `/databases/${name}`, '/api/v1/auth/keys', '/api/v1/openapi.json']) {
      const { headers } = await api.get(path, AS_FIRST);
      expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
    expect((await api.get('/health')).headers.get('cache-control')).toBeNull();
  });
});

describe('SPEC-AUTH-REQUIRED over gRPC', () => {
  const methods = Object.entries(EventStoreService).filter(([, { requestStream }]) => !requestStream);

  async function codeOf(method: string, metadata: Readonly<Record<string, string>>): Promise<string> {
    const definition = methods.find(([each]) => each === method)?.[1];
    const request = { ...definition?.requestDeserialize(Buffer.alloc(0)), databaseName: name } as never;
    try {
      if (definition?.responseStream === true) await server.client.collect(method as StreamName, request, { metadata });
      else await server.client.send(method as UnaryName, request, { metadata });
      return 'OK';
    } catch (failure) {
      if (!(failure instanceof GrpcFailure)) throw failure;
      const tells = 'x-leader-node' in failure.trailers || failure.message.includes(name);
      return `${failure.code} ${failure.info?.metadata['reason']}${tells ? ', and tells of the database' : ''}`;
    }
  }

  it.each(methods.map(([method]) => method))('%s is refused without a valid credential', async (method) => {
    expect(await codeOf(method, {})).toBe('UNAUTHENTICATED CredentialMissing');
    expect(await codeOf(method, { 'x-api-key': `${FIRST_KEY}x` })).toBe('UNAUTHENTICATED CredentialRefused');
    expect(await codeOf(method, { authorization: `Bearer ${FIRST_KEY}x` })).toBe('UNAUTHENTICATED CredentialRefused');
  });

  it.each([{}, { 'x-api-key': 'wrong' }])('a call with %j is refused before its message arrives', async (metadata) => {
    const client = new RawGrpc(Number(server.grpc.split(':').at(-1)));
    const stream = client.session.request({
      ':method': 'POST',
      ':path': '/cairn.v1.EventStore/Transact',
      'content-type': 'application/grpc',
      'grpc-encoding': 'gzip',
      ...metadata,
    });
    expect(await replyOn(stream)).toMatchObject({ status: 16 });
    await client.close();
  });
});

describe('SPEC-AUTH-MCP', () => {
  const told = async (body: unknown, headers: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
    const answer = await send(server.mcp, body, headers);
    return [answer.status, answer.headers.get('www-authenticate')];
  };

  it('no session begins without a valid Authorization', async () => {
    expect(await told(INITIALIZE, {})).toEqual([401, MISSING]);
    expect(await told(INITIALIZE, { authorization: 'Bearer cairn_x' })).toEqual([401, INVALID]);
    const elsewhere = await send(server.mcp, INITIALIZE, AS_FIRST);
    const asBearer = 'send an API key or a token as Authorization: Bearer';
    expect([elsewhere.status, elsewhere.text]).toEqual([401, expect.stringContaining(asBearer)]);
    expect(elsewhere.text).not.toContain('X-API-Key');
    expect((await fetch(server.mcp)).status).toBe(401);
    const bare = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} };
    expect(await told(bare, { 'mcp-protocol-version': '2026-07-28' })).toEqual([401, MISSING]);
  });

  it('a tool uses the Authorization of its request, and every request of a session needs one', async () => {
    const authorization = `Bearer ${FIRST_KEY}`;
    const { 'mcp-session-id': id = '' } = await begun(server.mcp, { authorization });
    const session = { 'mcp-session-id': id };
    await send(server.mcp, READY, { ...session, authorization });
    const call = { ...LIST, method: 'tools/call', params: { name: 'fetch', arguments: { path: '/' } } };
    expect((await send(server.mcp, call, { ...session, authorization })).text).toContain(name);
    expect(await told(LIST, { ...session, authorization: 'Bearer cairn_x' })).toEqual([401, INVALID]);
    expect(await told(LIST, session)).toEqual([401, MISSING]);
    expect((await fetch(server.mcp, { method: 'DELETE', headers: session })).status).toBe(401);
    expect((await send(server.mcp, LIST, { ...session, authorization })).status).toBe(200);
  });
});

const SECRET = 'known-to-its-readers-alone';

async function create(another: string, data: string): Promise<void> {
  await api.post('/databases', { name: another }, AS_FIRST);
  await api.post(`/databases/${another}/events`, { events: [cloudEvent('a', { data })] }, AS_FIRST);
}

function refused(answer: Answer): readonly unknown[] {
  return [answer.status, answer.headers.get('etag'), answer.text.includes(SECRET), answer.headers.get('cache-control')];
}

describe.each(['application/json', 'text/plain', 'text/html'] as const)('SPEC-HTTP-R6: a page as %s', (accept) => {
  it('is sent only to principals that may read it, with every tag', async () => {
    const own = uniqueName();
    await create(own, SECRET);
    const path = `/db/${own}/1/events`;
    const reader = await issueKey(api, `reader:${own}`);
    const page = await api.get(path, { ...reader.headers, accept });
    expect([page.status, page.text.includes(SECRET)]).toEqual([200, true]);
    expect(page.headers.get('cache-control')).toBe('private, max-age=60');
    const vary = page.headers.get('vary')?.split(', ');
    expect(vary).toEqual(expect.arrayContaining(['Authorization', 'Cookie', 'X-API-Key']));
    const tag = page.headers.get('etag') ?? '';
    const other = await issueKey(api, 'reader:other-*', 'admin:elsewhere');
    for (const held of [{}, { 'if-none-match': tag }, { 'if-none-match': '*' }]) {
      const asked = { accept, ...held };
      expect(refused(await api.get(path, { ...other.headers, ...asked }))).toEqual([403, null, false, null]);
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    }
    const also = await issueKey(api, `writer:${own}`);
    expect((await api.get(path, { ...also.headers, accept })).text).toBe(page.text);
    expect((await api.get(path, { ...also.headers, accept, 'if-none-match': tag })).status).toBe(304);
    await api.send(`/api/v1/auth/keys/${reader.id}`, { method: 'DELETE', headers: AS_FIRST });
    await eventually(async () => {
      const asked = { ...reader.headers, accept, 'if-none-match': tag };
      expect(refused(await api.get(path, asked))).toEqual([401, null, false, null]);
    });
  });

  it('has another tag after its database is re-created', async () => {
    const own = uniqueName();
    await create(own, SECRET);
    const path = `/db/${own}/1/events`;
    const asked = { ...AS_FIRST, accept };
    const tag = (await api.get(path, asked)).headers.get('etag') ?? '';
    await api.send(`/databases/${own}`, { method: 'DELETE', headers: AS_FIRST });
    expect(refused(await api.get(path, { ...asked, 'if-none-match': tag })).slice(0, 3)).toEqual([404, null, false]);
    await create(own, 'another');
    const answer = await api.get(path, { ...asked, 'if-none-match': tag });
    expect([answer.status, answer.text.includes(SECRET), answer.text.includes('another')]).toEqual([200, false, true]);
    expect(answer.headers.get('etag')).not.toBe(tag);
  });
});
