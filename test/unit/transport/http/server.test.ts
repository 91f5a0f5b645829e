// Goal: the HTTP server handles connections, shutdown, failures and metrics. Method: the server over a node in one
// thread.
import { once } from 'node:events';
import { Agent, type ClientRequest, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { assert, toGroupId } from '#base';
import { RowKeys } from '#database';
import { until } from '../../../support/budget-time.ts';
import { eventually } from '../../../support/eventually.ts';
import { cloudEvent, errorOf, jsonOf } from '../../../support/http-client.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { exchange } from '../../../support/raw-http.ts';

type World = Awaited<ReturnType<typeof startHttpWorld>>;

async function countOf({ metrics }: World, line: string): Promise<number> {
  const { body } = await metrics.render();
  const found = body.split('\n').find((each) => each.startsWith(line));
  return Number(found?.split(' ').at(-1) ?? 0);
}

async function commitOne({ core }: World): Promise<void> {
  const group = core.node.catalog.lookup('shop')?.group;
  assert(group !== undefined, 'The database is there');
  await core.transact(group, 'one');
}

function requests(method: string, route: string, code: string): string {
  return `http_server_request_duration_seconds_count{method="${method}",route="${route}",code="${code}"}`;
}

function outcome(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', (reply) => resolve(reply.resume()));
    request.once('error', reject);
  });
}

it('connections beyond the limit evict those that wait for a request, the longest first', async () => {
  await using world = await startHttpWorld({ connectionsMax: 2 });
  const { hostname, port } = new URL(world.server.address);
  const dial = async (text: string): Promise<Socket> => {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  const half = await dial('GET /health HTTP/1.1\r\n');
  const idle = await dial('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(idle, 'data');
  const request = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const gone = once(half.resume(), 'close');
  expect(await exchange(world.server.address, request)).toMatch(/^HTTP\/1.1 200/);
  await gone;
  expect(idle.destroyed).toBe(false);
  expect(await countOf(world, 'cairn_connections_displaced_total{protocol="http",waiting="head"}')).toBe(1);
  idle.destroy();
});

it('a client that leaves ends the work of its request, and nothing is logged (TH7)', async () => {
  await using world = await startHttpWorld();
  await world.client.create('shop');
  const leaving = new AbortController();
  const headers = { 'x-min-revision': '1' };
  const left = world.client
    .send('/db/shop/cached', { headers, signal: leaving.signal })
    .catch((error: unknown) => error);
  await until(() => world.timers.count === 1);
  leaving.abort();
  await left;
  await eventually(() => expect(world.timers.count).toBe(0));
  await until(async () => (await countOf(world, 'cairn_inflight_requests{plane="http"}')) === 0);
  expect(await countOf(world, requests('GET', '/db/{database}/{revision}', '499'))).toBe(1);
  expect(world.logged).toEqual([]);
});

it('a server that closes answers the running request, closes its connection, and accepts no new one (TH9)', async () => {
  await using world = await startHttpWorld();
  await world.client.create('shop');
  const agent = new Agent({ keepAlive: true });
  const running = outcome(get(`${world.server.address}/db/shop/cached`, { agent, headers: { 'x-min-revision': '1' } }));
  await until(() => world.timers.count === 1);
  const closed = world.server.close(60_000);
  await expect(outcome(get(`${world.server.address}/health`))).rejects.toThrow('ECONNREFUSED');
  await commitOne(world);
  expect(await running).toMatchObject({ statusCode: 307, headers: { connection: 'close', location: '/db/shop/1' } });
  await closed;
  agent.destroy();
});

it('a server that closes cuts off running requests at the deadline', async () => {
  await using world = await startHttpWorld();
  await world.client.create('shop');
  const running = outcome(get(`${world.server.address}/db/shop/cached`, { headers: { 'x-min-revision': '1' } }));
  await until(() => world.timers.count === 1);
  const [cut] = await Promise.allSettled([running, world.server.close(1)]);
  expect(cut).toMatchObject({ status: 'rejected', reason: { message: 'socket hang up' } });
  await until(() => world.timers.count === 0);
});

it('a failure of the node is answered with 500 INTERNAL only, is logged, and is fatal when stored rows are damaged', async () => {
  await using world = await startHttpWorld();
  await world.client.create('shop');
  await world.client.commit('shop', cloudEvent('a'));
  await damage(world);
  const answer = await world.client.get('/databases/shop/events');
  expect(errorOf(answer)).toMatchObject({ status: 500, code: 'INTERNAL' });
  expect(world.logged).toEqual(['http-request-failed']);
  expect(world.fatal).toHaveLength(1);
});

async function damage({ core }: World): Promise<void> {
  const rows = core.kv.range(new RowKeys(toGroupId(1)).positions(0, Number.MAX_SAFE_INTEGER));
  const batch = core.kv.batch();
  const positions = await rows.next(1_000);
  assert(positions.length === 1, 'There is one record', positions.length);
  for (const { key, value } of positions) {
    const flipped = Uint8Array.from(value, (byte, at) => (at === value.length - 3 ? byte ^ 1 : byte));
    batch.put(key, flipped);
  }
  await core.kv.write(batch);
}

it('metrics count requests by method, route and code, never by path', async () => {
  await using world = await startHttpWorld();
  const { client } = world;
  await client.create('shop');
  await client.get('/databases/shop');
  await client.get('/databases/none');
  await client.get('/nothing/at/all');
  await client.get('/%zz');
  await client.send('/databases', { method: 'PROPFIND' });
  await client.send('/db/shop/0', { method: 'HEAD' });
  await client.send('/databases', { method: 'OPTIONS' });
  for (const [method, route, code] of [
    ['POST', '/api/v1/db', '201'],
    ['GET', '/databases/{database}', '200'],
    ['GET', '/databases/{database}', '404'],
    ['GET', 'unmatched', '404'],
    ['GET', 'unmatched', '400'],
    ['other', 'unmatched', '404'],
    ['HEAD', '/db/{database}/{revision}', '200'],
    ['OPTIONS', '/databases', '204'],
  ] as const) {
    const told = [method, route, code, await countOf(world, requests(method, route, code))];
    expect(told).toEqual([method, route, code, 1]);
  }
});

const UP_TO_NOW = Buffer.from('{"range":{"effectiveTime":{"endAtNow":true}}}').toString('base64url');

it.each([
  ['by a clock after the year 9999 is up to the last instant', Date.UTC(10_000, 0, 1), '9999-12-31T23:59:59.999Z'],
  ['by a clock that was set back misses no answered transaction', Date.UTC(2026, 0, 1, 11), '2026-01-01T12:00:00Z'],
])('a query up to now %s (SPEC-HTTP-R2)', async (_what, nowMs, endAt) => {
  await using world = await startHttpWorld({ nowMs: Date.UTC(2026, 0, 1, 12) });
  await world.client.create('shop');
  await world.client.commit('shop', cloudEvent('a'));
  world.core.nowMs = nowMs;
  const redirect = await world.client.get(`/db/shop/1/events?q=${UP_TO_NOW}`);
  expect(redirect.headers.get('x-effective-time-end-at')).toBe(endAt);
  const page = await world.client.get(redirect.headers.get('location') ?? '');
  expect(jsonOf(page)).toMatchObject({ events: [{ id: 'a' }] });
});
