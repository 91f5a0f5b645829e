// Goal: a client that sends requests faster than its limit is refused as the contract says, in the form of each
// interface and before the body of its request is read. It has one budget over all interfaces, and a request counts
// once. Method: real nodes, and requests until the budget is used up. The clock stands still except where a test moves
// it, by a minute at most, because other files share this process.
import { request as sendHttp } from 'node:http';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { issueKey as newKey } from '#auth';
import { nativeRandom } from '#cluster';
import { COUNTED } from '../../src/transport/rate-limits.ts';
import { RELAYED } from '../../src/transport/relay.ts';
import { failureOf } from '../support/grpc-client.ts';
import { AS_FIRST, FIRST_KEY, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, errorOf, HttpClient } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { begun, type Headers, INITIALIZE, LIST, READY, send, untilPassedOn } from '../support/mcp-requests.ts';
import { framed, RawGrpc, replyOn } from '../support/raw-grpc.ts';
import { startTestServer } from '../support/server.ts';
import { startGuardedTwoNodes, startTwoNodes } from '../support/two-nodes.ts';

const BURST = 20;
const SETTINGS = ['--rate-limit-per-second=10', `--rate-limit-burst=${BURST}`];
const SECOND = 1_000;
const FILLED_MS = 2 * SECOND;
const MINUTE = 60 * SECOND;
const beganMs = Math.floor(Date.now() / SECOND) * SECOND + 400;
let nowMs = beganMs;

function pass(ms: number): void {
  nowMs += ms;
  if (nowMs - beganMs > MINUTE) throw new Error('the clock is too far ahead for other files');
  vi.setSystemTime(nowMs);
}

beforeEach(() => pass(FILLED_MS));
afterAll(() => vi.useRealTimers());

const leftOf = (answer: Answer): number => Number(answer.headers.get('x-ratelimit-remaining') ?? Number.NaN);

async function useUp(api: HttpClient, headers: Headers = {}, keep = 0): Promise<void> {
  let answer = await api.get('/databases', headers);
  while (leftOf(answer) > keep) answer = await api.get('/databases', headers);
  expect([answer.status, leftOf(answer)]).toEqual([answer.status, keep]);
}

describe('SPEC-LIMITS-RATE without authentication', async () => {
  const { server, api } = await startHttpNode(...SETTINGS);
  const refusedOverGrpc = (metadata: Headers = {}) => failureOf(server.client.send('fetchCatalog', {}, { metadata }));

  it('every answer has the remaining budget, also an error', async () => {
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
    // Each request needs a tenth of a second to be refilled, rounded up to seconds.
    const resets = answers.map(({ headers }) => Number(headers.get('x-ratelimit-reset')) - Math.floor(nowMs / SECOND));
    expect(resets).toEqual([1, 1, 1, 1, 1, 1, 2, 2]);
    const told = answers[0]?.headers.get('access-control-expose-headers');
    expect(told).toContain('X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset');
  });

  it('a client over the limit gets 429 with the time to wait, and is served after it', async () => {
    await useUp(api);
    const refused = await api.get('/databases');
    expect(errorOf(refused, { status: 429, code: 'RESOURCE_EXHAUSTED' }).details?.reason).toBe('TooManyRequests');
    expect(leftOf(refused)).toBe(0);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('x-ratelimit-reset')).toBe(String(Math.ceil((nowMs + FILLED_MS) / SECOND)));
    expect(refused.headers.get('cache-control')).toBe(null);
    pass(99);
    expect((await api.get('/databases')).status).toBe(429);
    pass(1);
    expect((await api.get('/databases')).status).toBe(200);
    expect((await api.get('/databases')).status).toBe(429);
  });

  it('probes, preflights and assets of pages are not counted, and the files of Swagger UI are', async () => {
    const assetOf = async (page: string): Promise<string> =>
      /href="(\/assets\/[^"]+\.css)"/.exec((await api.get(page, { accept: 'text/html' })).text)?.[1] ?? '';
    const [style, swagger] = [await assetOf('/'), await assetOf('/api/v1/swagger-ui')];
    await useUp(api);
    const free = [
      await api.get('/health'),
      await api.send('/databases', { method: 'OPTIONS' }),
      await api.send('/nowhere', { method: 'OPTIONS' }),
      await api.get(style),
    ];
    expect(free.map(({ status }) => status)).toEqual([200, 204, 404, 200]);
    expect(free.map(({ headers }) => headers.get('x-ratelimit-limit'))).toEqual([null, null, null, null]);
    expect([(await api.get('/databases')).status, (await api.get(swagger)).status]).toEqual([429, 429]);
  });

  it('headers of a client about its address, other nodes or earlier counting are ignored', async () => {
    await useUp(api);
    const said: readonly Headers[] = [
      { 'x-forwarded-for': '192.0.2.77' },
      { forwarded: 'for=192.0.2.77' },
      { [RELAYED]: 'node-2' },
      { [COUNTED]: 'yes' },
      { [COUNTED]: '0'.repeat(64) },
    ];
    for (const headers of said) {
      expect([headers, (await api.get('/databases', headers)).status]).toEqual([headers, 429]);
      expect([headers, (await refusedOverGrpc(headers)).code]).toEqual([headers, 'RESOURCE_EXHAUSTED']);
    }
  });

  it('over gRPC RESOURCE_EXHAUSTED has the time to wait, and metrics count refusals by protocol', async () => {
    await useUp(api);
    await api.get('/databases');
    const failure = await refusedOverGrpc();
    expect([failure.code, failure.info?.metadata]).toEqual(['RESOURCE_EXHAUSTED', { reason: 'TooManyRequests' }]);
    expect(failure.info?.reason).toBe('rate_limited');
    expect(failure.retryDelay).toEqual({ seconds: 0, nanos: 100_000_000 });
    const scraped = await (await fetch(server.metrics)).text();
    for (const protocol of ['http', 'grpc']) {
      const counted = `cairn_rate_limited_total\\{protocol="${protocol}",by="address"\\} [1-9]`;
      expect(scraped).toMatch(new RegExp(`^${counted}`, 'm'));
    }
    pass(100);
    expect((await server.client.send('fetchCatalog', {})).databases).toHaveLength(1);
  });

  it('a request is refused before its body arrives; health over gRPC is never refused, and reflection counts', async () => {
    await useUp(api);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const headers = { 'content-type': 'application/json', 'content-length': '1000000' };
    const outgoing = sendHttp(`${server.http}/api/v1/db/shop`, { method: 'POST', headers });
    outgoing.on('error', () => undefined).once('response', ({ statusCode }) => resolve(statusCode));
    outgoing.flushHeaders();
    expect(await promise).toBe(429);
    outgoing.destroy();

    const raw = new RawGrpc(server.port);
    const path = '/cairn.v1.EventStore/Transact';
    const open = raw.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    expect((await replyOn(open)).status).toBe(8);
    const pieces = [framed(new Uint8Array(0))];
    const health = await raw.call({ path: '/grpc.health.v1.Health/Check', pieces });
    const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    expect([health.status, (await raw.call({ path: reflection, pieces })).status]).toEqual([0, 8]);
    await raw.close();
  });
});

describe('SPEC-LIMITS-RATE with authentication', async () => {
  const { server, api } = await startGuardedNode(...SETTINGS);
  pass(FILLED_MS);
  const [{ key: one }, { key: two }] = [await issueKey(api, 'admin'), await issueKey(api, 'admin')];
  const left = async (key: string): Promise<number> => leftOf(await api.get('/databases', { 'x-api-key': key }));
  const called = (id: number, path: string): object => {
    return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'fetch', arguments: { path } } };
  };

  /** Opens a ready session whose budget is full. */
  async function session(key: string): Promise<Headers> {
    const headers = await begun(server.mcp, { authorization: `Bearer ${key}` });
    await send(server.mcp, READY, headers);
    pass(FILLED_MS);
    return headers;
  }

  it('HTTP, gRPC and MCP use one budget of the principal, and each refuses in its own form', async () => {
    const headers = await session(one);
    const overGrpc = () => server.client.send('fetchCatalog', {}, { metadata: { 'x-api-key': one } });
    expect((await send(server.mcp, called(2, '/'), headers)).text).toContain('databases');
    await overGrpc();
    expect(await left(one)).toBe(BURST - 3);
    await useUp(api, { 'x-api-key': one });
    const refused = await send(server.mcp, called(3, '/'), headers);
    expect((await api.get('/databases', { authorization: `Bearer ${one}` })).status).toBe(429);
    expect((await failureOf(overGrpc())).code).toBe('RESOURCE_EXHAUSTED');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(refused.headers.get('x-ratelimit-limit')).toBe(String(BURST));
    expect(JSON.parse(refused.text)).toEqual({
      jsonrpc: '2.0',
      error: { code: -32_000, message: expect.stringContaining('more requests of this principal') },
      id: null,
    });
    expect(await left(two)).toBe(BURST - 1);
  });

  it('a tool call counts once, also when the API redirects it', async () => {
    await api.post('/api/v1/db', { database_name: 'led' }, { 'x-api-key': one });
    const { status, headers, text } = await send(server.mcp, called(2, '/db/led/latest'), await session(one));
    expect(text).toContain('revision');
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, String(BURST - 1)]);
    expect(await left(one)).toBe(BURST - 2);
  });

  it('a batch counts for each of its messages', async () => {
    const headers = await session(two);
    const batch = Array.from({ length: 4 }, (_, n) => called(10 + n, '/'));
    const answer = await send(server.mcp, batch, headers);
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, String(BURST - 4)]);
    await useUp(api, { 'x-api-key': two }, 3);
    const refused = await send(server.mcp, batch, headers);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await left(two)).toBe(1);
  });

  it('callers without a valid credential are counted by address, over each interface, and do not use budgets of others', async () => {
    const wrong = { 'x-api-key': `${FIRST_KEY}x` };
    const overGrpc = async (metadata: Headers): Promise<string> =>
      (await failureOf(server.client.send('fetchCatalog', {}, { metadata }))).code;
    const overMcp = async (): Promise<number> =>
      (await send(server.mcp, INITIALIZE, { authorization: 'Bearer nothing' })).status;
    // This key is well formed, but unknown; only the leader of the catalog can tell.
    const { text: unknown } = newKey((bytes) => nativeRandom.bytes(bytes));
    const seen = [
      (await api.get('/databases')).status,
      (await api.get('/databases', wrong)).status,
      await overMcp(),
      await overGrpc({}),
      await overGrpc(wrong),
      await overGrpc({ 'x-api-key': unknown }),
    ];
    expect(seen).toEqual([401, 401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(leftOf(await api.get('/databases', wrong))).toBe(BURST - 7);
    await useUp(api);
    expect([(await api.get('/databases')).status, await overMcp()]).toEqual([429, 429]);
    expect(await overGrpc(wrong)).toBe('RESOURCE_EXHAUSTED');
    expect(await left(one)).toBe(BURST - 1);
  });
});

describe('SPEC-LIMITS-RATE of requests that another node answers', async () => {
  const many = ['--rate-limit-per-second=1000', '--rate-limit-burst=1000'];
  const known = await startGuardedTwoNodes('shop', ...many);
  const strangers = await startTwoNodes('shop', ...many);

  it('nodes with a common key count them at the node that the client asks, and not again', async () => {
    const [there, here] = [new HttpClient(known.holder.http), new HttpClient(known.other.http)];
    const answer = await here.get('/db/shop/0', AS_FIRST);
    expect([answer.status, leftOf(answer)]).toEqual([200, 999]);
    await known.other.client.send('fetchLatestDatabase', { databaseName: 'shop' }, { metadata: AS_FIRST });
    expect((await here.get('/databases', AS_FIRST)).text).toContain('shop');
    expect(leftOf(await here.get('/databases', AS_FIRST))).toBe(996);
    expect(leftOf(await there.get('/databases', AS_FIRST))).toBe(999);
  });

  it('requests of an MCP session count at the node that the client asks; the rest of a batch counts where it is read', async () => {
    const mine = { authorization: `Bearer ${FIRST_KEY}` };
    await untilPassedOn(known.other.mcp, known.holder.mcp, mine);
    const session = await begun(known.holder.mcp, mine);
    pass(FILLED_MS);
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

  it('nodes without a common key count them again, for the relaying node', async () => {
    const [there, here] = [new HttpClient(strangers.holder.http), new HttpClient(strangers.other.http)];
    const answer = await here.get('/db/shop/0', { [COUNTED]: 'passed on' });
    expect([answer.status, leftOf(answer)]).toEqual([200, 999]);
    expect(leftOf(await there.get('/databases'))).toBe(998);
  });

  it('is off unless it is set', async () => {
    await using server = await startTestServer();
    const answer = await new HttpClient(server.http).get('/databases');
    expect([...answer.headers.keys()].filter((header) => header.startsWith('x-ratelimit'))).toEqual([]);
  });
});
