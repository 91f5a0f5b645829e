// Goal: requests of a session have their own answers (TC9) and principals (TC2), and sessions end (TC3). Method: the
// protocol over HTTP with an API that answers late.
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toNodeId } from '#base';
import { createMetrics } from '#observability';
import { Api, type ApiAnswer, type ApiRequest } from '../../../../src/transport/mcp/api.ts';
import { SESSION_IDLE_MS } from '../../../../src/transport/mcp/limits.ts';
import { readMessage } from '../../../../src/transport/mcp/message-json.ts';
import { McpMeters } from '../../../../src/transport/mcp/meters.ts';
import { Protocol } from '../../../../src/transport/mcp/protocol.ts';
import { nodeOfSession, sessionIdAt } from '../../../../src/transport/mcp/session-ids.ts';
import {
  BOTH,
  begun,
  type Headers,
  INITIALIZE,
  LIST,
  type McpSent,
  READY,
  send,
} from '../../../support/mcp-requests.ts';

const SESSIONS = { all: 5, ofPrincipal: 3 };

class SlowApi extends Api {
  readonly asked: string[] = [];
  readonly #opened = Promise.withResolvers<void>();

  constructor() {
    super('http://127.0.0.1:1', () => {
      throw new Error('Nothing is dialled');
    });
  }

  open(): void {
    this.#opened.resolve();
  }

  override async ask({ path, authorization = 'nothing' }: ApiRequest): Promise<ApiAnswer> {
    this.asked.push(path);
    await this.#opened.promise;
    return { status: 200, text: `${path} with ${authorization}`, location: undefined };
  }
}

let nowMs = 0;
let http: HttpServer;
let url = '';
let metrics = createMetrics({ runtime: false });
let api: SlowApi;
let protocol: Protocol;

beforeEach(async () => {
  nowMs = 0;
  metrics = createMetrics({ runtime: false });
  api = new SlowApi();
  protocol = new Protocol({
    api,
    version: '1',
    docs: '',
    mintId: () => sessionIdAt(toNodeId(7), crypto.randomUUID()),
    monotonicMs: () => nowMs,
    meters: new McpMeters(metrics),
    onFault: () => undefined,
    sessionsMax: SESSIONS,
  });
  http = createServer((request, response) => void answer(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
});

/** The authorization is a credential of a principal, such as `ann/1`. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const read = readMessage(await buffer(request));
  const body = read.kind === 'read' ? read.value : undefined;
  const { authorization } = request.headers;
  const asker = { authorization, principal: authorization?.split('/')[0] };
  await protocol.handle({ request, response, body, asker });
}

afterEach(async () => {
  api.open();
  await protocol.close();
  http.close();
  http.closeAllConnections();
});

async function ready(headers: Headers = {}): Promise<Headers> {
  const session = await begun(url, headers);
  await send(url, READY, session);
  return session;
}

const callOf = (id: unknown, path: string): object => {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'fetch', arguments: { path } } };
};

function posted(body: object, session: Headers, signal: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: BOTH, ...session };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

async function untilAsked(count: number): Promise<void> {
  await expect.poll(() => api.asked.length).toBe(count);
}

it('requests with the same id (TC9) are rejected while the first is in flight, which gets its own answer', async () => {
  const session = await ready();
  const paths = Array.from({ length: 40 }, (_, at) => `/db/a${at}`);
  const first = send(url, callOf(7, paths[0] ?? ''), session);
  await untilAsked(1);
  const refused = await Promise.all(paths.slice(1).map((path) => send(url, callOf(7, path), session)));
  const error = { code: -32_600, message: expect.stringContaining('has no answer yet') };
  for (const { status, text } of refused) expect([status, JSON.parse(text)]).toMatchObject([400, { id: 7, error }]);
  api.open();
  expect((await first).text).toContain('"text":"/db/a0 with');
  expect(api.asked).toEqual(['/db/a0']);
  expect((await send(url, callOf(7, '/db/next'), session)).text).toContain('"text":"/db/next with');
});

it('requests with the same id (TC9) are rejected after the client disconnects, while it can resume with the answer', async () => {
  const newer = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2025-11-25' } };
  const { session: id } = await send(url, newer);
  const session = { 'mcp-session-id': id ?? '', 'mcp-protocol-version': '2025-11-25' };
  await send(url, READY, session);
  const leaving = new AbortController();
  const left = await posted(callOf(7, '/db/a'), session, leaving.signal);
  const chunk = await left.body?.getReader().read();
  const [, last = ''] = /^id: (\d+)$/m.exec(Buffer.from(chunk?.value ?? []).toString()) ?? [];
  await untilAsked(1);
  leaving.abort();
  expect((await send(url, callOf(7, '/db/b'), session)).status).toBe(400);
  const again = await fetch(url, { headers: { accept: 'text/event-stream', ...session, 'last-event-id': last } });
  api.open();
  expect(await again.text()).toContain('"text":"/db/a with');
  expect((await send(url, callOf(7, '/db/c'), session)).text).toContain('"text":"/db/c with');
});

describe('a session with authentication (TC2)', () => {
  const statusOf = async (sent: Promise<McpSent>): Promise<number> => (await sent).status;

  it('rejects other principals, and uses the Authorization of each request', async () => {
    api.open();
    const session = await ready({ authorization: 'ann/1' });
    const { text } = await send(url, callOf(2, '/db/a'), { ...session, authorization: 'ann/2' });
    expect(text).toContain('"text":"/db/a with ann/2"');
    expect(await statusOf(send(url, LIST, { ...session, authorization: 'bob/1' }))).toBe(403);
    expect((await send(url, callOf(3, '/db/a'), session)).text).toContain('with ann/1"');
  });

  it('is evicted for a new one when its principal has too many', async () => {
    const other = await ready({ authorization: 'bob/1' });
    const mine: Headers[] = [];
    for (let n = 0; n <= SESSIONS.ofPrincipal; n++) mine.push(await ready({ authorization: `ann/${n}` }));
    const statuses = await Promise.all([...mine, other].map((session) => statusOf(send(url, LIST, session))));
    expect(statuses).toEqual([404, 200, 200, 200, 200]);
  });
});

async function counted(series: string): Promise<number> {
  const name = series.startsWith('cairn_') ? series : `cairn_mcp_sessions_ended_total{reason="${series}"}`;
  const line = (await metrics.render()).body.split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

const OPEN = 'cairn_mcp_sessions';
const BEGUN = 'cairn_mcp_sessions_begun_total';

it('a session (TC3) ends when it was not used for long, but not while a client listens', async () => {
  await begun(url);
  const heard = await begun(url);
  const stream = await fetch(url, { headers: { accept: 'text/event-stream', ...heard } });
  nowMs += 1;
  const used = await ready();
  nowMs += SESSION_IDLE_MS;
  await protocol.sweep();
  expect([await counted('idle'), await counted(OPEN), await counted(BEGUN)]).toEqual([1, 2, 3]);
  expect((await send(url, LIST, used)).status).toBe(200);
  nowMs += SESSION_IDLE_MS + 1;
  await protocol.sweep();
  expect([stream.status, await counted('idle'), await counted(OPEN)]).toEqual([200, 2, 1]);
  await stream.body?.cancel();
});

it('a session (TC3) ends with its node', async () => {
  await begun(url);
  await begun(url);
  await protocol.close();
  expect([await counted('closing'), await counted(OPEN)]).toEqual([2, 0]);
});

it('a session (TC3) is evicted when there are too many and it is the idlest', async () => {
  const [first, second] = [await ready(), await ready()];
  for (let count = 2; count < SESSIONS.all; count++) await begun(url);
  await send(url, LIST, first);
  await begun(url);
  expect([await counted('displaced'), await counted(OPEN)]).toEqual([1, SESSIONS.all]);
  expect([(await send(url, LIST, first)).status, (await send(url, LIST, second)).status]).toEqual([200, 404]);
});

const uuid = crypto.randomUUID();

it.each([
  [`7.${uuid}`, 7],
  [`4294967295.${uuid}`, 4_294_967_295],
  [`4294967296.${uuid}`, undefined],
  [`0.${uuid}`, undefined],
  [`07.${uuid}`, undefined],
  [`7${uuid}`, undefined],
  [`.${uuid}`, undefined],
  [`7e0.${uuid}`, undefined],
  [`7.${uuid}\n`, undefined],
  ['7.', undefined],
  [`127.0.0.1:3001.${uuid}`, undefined],
  [`http://127.0.0.1/.${uuid}`, undefined],
  [`1.${'5'.repeat(10_000)}`, undefined],
  [uuid, undefined],
])('the id of a session %j belongs to node %j', (id, node) => {
  expect(nodeOfSession(id)).toBe(node);
});
