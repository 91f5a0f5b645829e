// Goal: a client that asks more often than it may is refused as the contract says, in the words of each interface and
// before the body of its request is read; it has one budget over all of them, and a request counts once.
// Method: real nodes, whose clock stands but where a test moves it; requests until the budget is used up.
import { writeFileSync } from 'node:fs';
import { request as sendHttp } from 'node:http';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { issueKey } from '#auth';
import { nativeRandom } from '#cluster';
import { swaggerAsset } from '../../src/transport/http/openapi/swagger-ui.ts';
import { COUNTED } from '../../src/transport/rate-limits.ts';
import { RELAYED } from '../../src/transport/relay.ts';
import type { GrpcFailure } from '../support/grpc-client.ts';
import { AS_FIRST, FIRST_KEY, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, errorOf, HttpClient, jsonOf } from '../support/http-client.ts';
import { begun, LIST, READY, send, untilPassedOn } from '../support/mcp-requests.ts';
import { startTestServer } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startGuardedTwoNodes, startTwoNodes } from '../support/two-nodes.ts';

const BURST = 20;
const SETTINGS = ['--rate-limit-per-second=2', `--rate-limit-burst=${BURST}`];
const EXHAUSTED = { status: 429, code: 'RESOURCE_EXHAUSTED' };
/** In it every bucket is filled. */
const LONG_MS = 60_000;
const SECOND = 1_000;
let nowMs = Date.parse('2030-01-01T00:00:00.400Z');

function pass(ms: number): void {
  nowMs += ms;
  vi.setSystemTime(nowMs);
}

beforeEach(() => pass(LONG_MS));
afterAll(() => {
  vi.useRealTimers();
});

const leftOf = (answer: Answer): number => Number(answer.headers.get('x-ratelimit-remaining') ?? Number.NaN);

async function useUp(api: HttpClient, headers: Readonly<Record<string, string>> = {}, keep = 0): Promise<void> {
  let answer = await api.get('/databases', headers);
  while (leftOf(answer) > keep) answer = await api.get('/databases', headers);
  expect([answer.status, leftOf(answer)]).toEqual([answer.status, keep]);
}

const failureOf = (call: Promise<unknown>): Promise<GrpcFailure> =>
  call.then(
    () => {
      throw new Error('The call was not refused');
    },
    (failure: GrpcFailure) => failure,
  );

describe('SPEC-LIMITS-RATE without authentication', async () => {
  const server = await startTestServer(...SETTINGS);
  afterAll(() => server[Symbol.asyncDispose]());
  const api = new HttpClient(server.http);

  it('every answer says what is left, whatever it answers', async () => {
    const answers = [
      await api.post('/api/v1/db', { database_name: 'shop' }),
      await api.get('/db/shop/latest'),
      await api.get('/db/shop/0'),
      await api.send('/db/shop/0', { method: 'HEAD' }),
      await api.get('/nowhere'),
      await api.get('/db/shop/0', { 'if-none-match': '*' }),
      await api.get('/%zz'),
      await api.get('/', { accept: 'text/html' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 307, 200, 200, 404, 304, 400, 200]);
    expect(answers.map(leftOf)).toEqual([19, 18, 17, 16, 15, 14, 13, 12]);
    for (const { headers } of answers) expect(headers.get('x-ratelimit-limit')).toBe(String(BURST));
    // Half a second for each request, rounded up.
    const resets = answers.map(({ headers }) => Number(headers.get('x-ratelimit-reset')) - Math.floor(nowMs / SECOND));
    expect(resets).toEqual([1, 2, 2, 3, 3, 4, 4, 5]);
    expect(answers[0]?.headers.get('access-control-expose-headers')).toContain(
      'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
    );
  });

  it('beyond it 429 says when to come again, and then it is let again', async () => {
    await useUp(api);
    const refused = await api.get('/databases');
    expect(errorOf(refused, EXHAUSTED).details?.reason).toBe('TooManyRequests');
    expect(leftOf(refused)).toBe(0);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('x-ratelimit-reset')).toBe(String(Math.ceil(nowMs / SECOND) + BURST / 2));
    expect(refused.headers.get('cache-control')).toBe(null);
    pass(499);
    expect((await api.get('/databases')).status).toBe(429);
    pass(1);
    expect((await api.get('/databases')).status).toBe(200);
    expect((await api.get('/databases')).status).toBe(429);
  });

  it('what probes, browsers and pages ask is not counted', async () => {
    const page = await api.get('/', { accept: 'text/html' });
    const [, style = ''] = /href="(\/assets\/[^"]+\.css)"/.exec(page.text) ?? [];
    await useUp(api);
    const free = [
      await api.get('/health'),
      await api.send('/databases', { method: 'OPTIONS' }),
      await api.send('/nowhere', { method: 'OPTIONS' }),
      await api.get(style),
    ];
    expect(free.map(({ status }) => status)).toEqual([200, 204, 404, 200]);
    expect(free.map(({ headers }) => headers.get('x-ratelimit-limit'))).toEqual([null, null, null, null]);
    expect((await api.get('/databases')).status).toBe(429);
  });

  it('the files of Swagger UI are counted, and read once', async () => {
    const page = await api.get('/api/v1/swagger-ui');
    const [, style = ''] = /href="(\/assets\/swagger-ui[^"]+\.css)"/.exec(page.text) ?? [];
    expect((await api.get(style)).headers.get('x-ratelimit-limit')).not.toBe(null);
    expect(swaggerAsset(style.split('/').at(-1) ?? '')).toBe(swaggerAsset(style.split('/').at(-1) ?? ''));
    await useUp(api);
    expect((await api.get(style)).status).toBe(429);
  });

  it('what a client says of its address, of other nodes or of having been counted is not believed', async () => {
    await useUp(api);
    for (const headers of [
      { 'x-forwarded-for': '192.0.2.77' },
      { forwarded: 'for=192.0.2.77' },
      { [RELAYED]: 'node-2' },
      { [COUNTED]: 'yes' },
      { [COUNTED]: '0'.repeat(64) },
    ] as unknown as readonly Record<string, string>[]) {
      expect([headers, (await api.get('/databases', headers)).status]).toEqual([headers, 429]);
      const call = server.client.send('fetchCatalog', {}, { metadata: headers });
      expect([headers, (await failureOf(call)).code]).toEqual([headers, 'RESOURCE_EXHAUSTED']);
    }
  });

  it('over gRPC RESOURCE_EXHAUSTED says when to come again', async () => {
    await useUp(api);
    const failure = await failureOf(server.client.send('fetchCatalog', {}));
    expect([failure.code, failure.info?.metadata]).toEqual(['RESOURCE_EXHAUSTED', { reason: 'TooManyRequests' }]);
    expect(failure.info?.reason).toBe('rate_limited');
    expect(failure.retryDelay).toEqual({ seconds: 0, nanos: 500_000_000 });
    pass(500);
    expect((await server.client.send('fetchCatalog', {})).databases).toHaveLength(1);
  });

  it('a request is refused before its body is there', async () => {
    await useUp(api);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const outgoing = sendHttp(`${server.http}/api/v1/db/shop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': '1000000' },
    });
    outgoing.on('error', () => undefined).once('response', ({ statusCode }) => resolve(statusCode));
    outgoing.flushHeaders();
    expect(await promise).toBe(429);
    outgoing.destroy();

    const session = connect(`http://${server.grpc}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/cairn.v1.EventStore/Transact',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const status = await new Promise((done) => {
      stream.once('response', (headers) => done(headers['grpc-status']));
    });
    expect(status).toBe('8');
    session.destroy();
  });

  it('health is answered over gRPC, and reflection counts as any call', async () => {
    await useUp(api);
    const session = connect(`http://${server.grpc}`);
    const statusOf = (path: string): Promise<unknown> =>
      new Promise((done) => {
        const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
        const told = (headers: Readonly<Record<string, unknown>>): void => {
          if (headers['grpc-status'] !== undefined) done(headers['grpc-status']);
        };
        stream
          .on('response', told)
          .on('trailers', told)
          .on('error', () => undefined)
          .resume();
        stream.end(Buffer.alloc(5));
      });
    expect(await statusOf('/grpc.health.v1.Health/Check')).toBe('0');
    expect(await statusOf('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo')).toBe('8');
    session.destroy();
  });

  it('the node counts what it refuses, by protocol', async () => {
    await useUp(api);
    await api.get('/databases');
    await failureOf(server.client.send('fetchCatalog', {}));
    const scraped = await (await fetch(server.metrics)).text();
    for (const protocol of ['http', 'grpc']) {
      expect(scraped).toMatch(
        new RegExp(`^cairn_rate_limited_total\\{protocol="${protocol}",by="address"\\} [1-9]`, 'm'),
      );
    }
  });
});

describe('SPEC-LIMITS-RATE with authentication', async () => {
  const { server, api } = await startGuardedNode(...SETTINGS);
  pass(LONG_MS);
  const KEYS = '/api/v1/auth/keys';
  const issue = async (): Promise<string> =>
    (jsonOf(await api.post(KEYS, { name: 'x', roles: ['admin'] }, AS_FIRST)) as { key: string }).key;
  const [one, two] = [await issue(), await issue()];
  const left = async (key: string): Promise<number> => leftOf(await api.get('/databases', { 'x-api-key': key }));
  const BOTH = 'application/json, text/event-stream';

  async function mcp(key: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(server.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: BOTH, authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(body),
    });
  }

  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };
  const ready = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const called = (id: number, path: string): object => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'fetch', arguments: { path } },
  });

  async function session(key: string): Promise<string> {
    const answer = await mcp(key, initialize);
    await answer.text();
    const id = answer.headers.get('mcp-session-id') ?? '';
    await (await mcp(key, ready, { 'mcp-session-id': id })).text();
    return id;
  }

  it('HTTP, gRPC and MCP take from one budget of the principal, and refuse each in its own words', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(server.mcp), {
        requestInit: { headers: { authorization: `Bearer ${one}` } },
      }),
    );
    const before = await left(one);
    const text = (await client.callTool({ name: 'fetch', arguments: { path: '/' } })).content;
    expect(JSON.stringify(text)).toContain('databases');
    await server.client.send('fetchCatalog', {}, { metadata: { 'x-api-key': one } });
    expect(await left(one)).toBe(before - 3);
    await useUp(api, { 'x-api-key': one });
    const seen = [
      (await api.get('/databases', { authorization: `Bearer ${one}` })).status,
      (await failureOf(server.client.send('fetchCatalog', {}, { metadata: { 'x-api-key': one } }))).code,
      await client.callTool({ name: 'fetch', arguments: { path: '/' } }).then(String, String),
    ];
    expect(seen).toEqual([429, 'RESOURCE_EXHAUSTED', expect.stringContaining('more requests of this principal')]);
    expect(await left(two)).toBe(BURST - 1);
    pass(LONG_MS);
    await client.close();
  });

  it('a tool call counts once, wherever the API leads it', async () => {
    await api.post('/api/v1/db', { database_name: 'led' }, { 'x-api-key': one });
    const id = await session(one);
    pass(LONG_MS);
    const answer = await fetch(server.mcp, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: BOTH,
        'mcp-session-id': id,
        authorization: `Bearer ${one}`,
      },
      body: JSON.stringify(called(2, '/db/led/latest')),
    });
    expect(await answer.text()).toContain('revision');
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, String(BURST - 1)]);
    expect(await left(one)).toBe(BURST - 2);
  });

  it('a batch counts for each of its messages', async () => {
    const id = await session(two);
    pass(LONG_MS);
    const batch = Array.from({ length: 4 }, (_, n) => called(10 + n, '/'));
    const answer = await mcp(two, batch, { 'mcp-session-id': id });
    await answer.text();
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, String(BURST - 4)]);
    await useUp(api, { 'x-api-key': two }, 3);
    const refused = await mcp(two, batch, { 'mcp-session-id': id });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    // What was counted of it before its body was read.
    expect(await left(two)).toBe(1);
  });

  it('over MCP 429 has the headers, and an error of JSON-RPC', async () => {
    await useUp(api, { 'x-api-key': two });
    const refused = await mcp(two, initialize);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('x-ratelimit-limit')).toBe(String(BURST));
    expect(await refused.json()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32_000, message: expect.stringContaining('more requests') },
      id: null,
    });
  });

  it('who has no valid credential is counted by address, over each interface, and takes nothing from others', async () => {
    const wrong = { 'x-api-key': `${FIRST_KEY}x` };
    const seen = [
      (await api.get('/databases')).status,
      (await api.get('/databases', wrong)).status,
      (await mcp('nothing', initialize)).status,
      (await failureOf(server.client.send('fetchCatalog', {}))).code,
      (await failureOf(server.client.send('fetchCatalog', {}, { metadata: wrong }))).code,
    ];
    expect(seen).toEqual([401, 401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(leftOf(await api.get('/databases', wrong))).toBe(BURST - 6);
    await useUp(api);
    expect((await api.get('/databases')).status).toBe(429);
    expect((await mcp('nothing', initialize)).status).toBe(429);
    expect((await failureOf(server.client.send('fetchCatalog', {}, { metadata: wrong }))).code).toBe(
      'RESOURCE_EXHAUSTED',
    );
    expect(await left(one)).toBe(BURST - 1);
  });

  it('a key that only the leader of the catalog knows is counted when it is known whose it is', async () => {
    const { text: unknown } = issueKey((bytes) => nativeRandom.bytes(bytes));
    expect((await failureOf(server.client.send('fetchCatalog', {}, { metadata: { 'x-api-key': unknown } }))).code).toBe(
      'UNAUTHENTICATED',
    );
    expect(leftOf(await api.get('/databases'))).toBe(BURST - 2);
  });
});

describe('SPEC-LIMITS-RATE of requests that another node answers', async () => {
  const dir = tempDir();
  afterAll(() => dir[Symbol.dispose]());
  const file = join(dir.path, 'first-key');
  writeFileSync(file, FIRST_KEY);
  const many = ['--rate-limit-per-second=1000', '--rate-limit-burst=1000'];
  const guarded = ['--auth=on', `--auth-bootstrap-key-file=${file}`, ...many];
  const known = await startGuardedTwoNodes('shop', AS_FIRST, ...guarded);
  const strangers = await startTwoNodes('shop', ...many);

  it('nodes with a key in common count them where the client asks, and not again', async () => {
    const [there, here] = [new HttpClient(known.holder.http), new HttpClient(known.other.http)];
    const answer = await here.get('/db/shop/0', AS_FIRST);
    expect([answer.status, leftOf(answer)]).toEqual([200, 999]);
    await known.other.client.send('fetchLatestDatabase', { databaseName: 'shop' }, { metadata: AS_FIRST });
    expect((await here.get('/databases', AS_FIRST)).text).toContain('shop');
    expect(leftOf(await here.get('/databases', AS_FIRST))).toBe(996);
    expect(leftOf(await there.get('/databases', AS_FIRST))).toBe(999);
  });

  it('those of a session of MCP count where the client asks; of a batch the rest counts where it is read', async () => {
    const mine = { authorization: `Bearer ${FIRST_KEY}` };
    await untilPassedOn(known.other.mcp, known.holder.mcp, mine);
    const session = await begun(known.holder.mcp, mine);
    pass(LONG_MS);
    const answers = [
      await send(known.other.mcp, READY, session),
      await send(known.other.mcp, LIST, session),
      await send(known.other.mcp, [LIST, { ...LIST, id: 3 }, { ...LIST, id: 4 }], session),
      await send(known.other.mcp, LIST, { ...session, [COUNTED]: 'no' }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')])).toEqual([
      [202, '999'],
      [200, '998'],
      [200, '998'],
      [200, '996'],
    ]);
    expect(leftOf(await new HttpClient(known.holder.http).get('/databases', AS_FIRST))).toBe(997);
  });

  it('others count them again, for the node that has passed them on', async () => {
    const [there, here] = [new HttpClient(strangers.holder.http), new HttpClient(strangers.other.http)];
    const answer = await here.get('/db/shop/0', { [COUNTED]: 'passed on' });
    expect([answer.status, leftOf(answer)]).toEqual([200, 999]);
    expect(leftOf(await there.get('/databases'))).toBe(998);
  });
});

describe('SPEC-LIMITS-RATE', async () => {
  const server = await startTestServer();
  afterAll(() => server[Symbol.asyncDispose]());

  it('is off unless it is set', async () => {
    const answer = await new HttpClient(server.http).get('/databases');
    expect([...answer.headers.keys()].filter((header) => header.startsWith('x-ratelimit'))).toEqual([]);
  });
});
