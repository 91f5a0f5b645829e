// Goal: sessions end for want of use, for others, by their clients and with their node, and each end is counted (TC3).
// Method: sessions behind a bare server, with a clock of their own.
import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toNodeId } from '#base';
import { createMetrics } from '#observability';
import { SESSION_IDLE_MS, SESSIONS_MAX } from '../../../../src/transport/mcp/limits.ts';
import { McpMeters } from '../../../../src/transport/mcp/meters.ts';
import { nodeOfSession, sessionIdAt } from '../../../../src/transport/mcp/session-ids.ts';
import { Sessions } from '../../../../src/transport/mcp/sessions.ts';
import { begun, INITIALIZE } from '../../../support/mcp-requests.ts';

let nowMs = 0;
let http: HttpServer;
let url = '';
let metrics = createMetrics({ runtime: false });
let sessions: Sessions;

beforeEach(async () => {
  nowMs = 0;
  metrics = createMetrics({ runtime: false });
  sessions = new Sessions({
    endpoint: () => new Server({ name: 'test', version: '1' }, { capabilities: {} }),
    mintId: () => sessionIdAt(toNodeId(7), crypto.randomUUID()),
    monotonicMs: () => nowMs,
    meters: new McpMeters(metrics),
  });
  http = createServer((request, response) => {
    const id = request.headers['mcp-session-id']?.toString();
    const known = id === undefined ? undefined : sessions.find(id);
    const asked = { request, response, body: INITIALIZE, asker: { authorization: undefined, principal: undefined } };
    if (id === undefined) request.resume().once('end', () => void sessions.begin(asked));
    else if (known === undefined) response.writeHead(404).end();
    else void known.handle(request, response, undefined);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
});

afterEach(async () => {
  await sessions.close();
  http.close();
  http.closeAllConnections();
});

/** Of a series without labels, or of the sessions that have ended so. */
async function counted(series: string): Promise<number> {
  const name = series.startsWith('cairn_') ? series : `cairn_mcp_sessions_ended_total{reason="${series}"}`;
  const line = (await metrics.render()).body.split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

const OPEN = 'cairn_mcp_sessions';
const BEGUN = 'cairn_mcp_sessions_begun_total';

describe('a session', () => {
  it('ends when nobody has used it for long', async () => {
    await begun(url);
    nowMs += 1;
    const used = await begun(url);
    nowMs += SESSION_IDLE_MS;
    await sessions.sweep();
    expect([await counted('idle'), await counted(OPEN), await counted(BEGUN)]).toEqual([1, 1, 2]);
    expect(sessions.find(used['mcp-session-id'] ?? '')).toBeDefined();
    nowMs += 1;
    await sessions.sweep();
    expect([await counted('idle'), await counted(OPEN)]).toEqual([2, 0]);
  });

  it('does not while somebody listens', async () => {
    const session = await begun(url);
    const stream = await fetch(url, { headers: { accept: 'text/event-stream', ...session } });
    nowMs += 2 * SESSION_IDLE_MS;
    await sessions.sweep();
    expect([stream.status, await counted('idle'), await counted(OPEN)]).toEqual([200, 0, 1]);
    await stream.body?.cancel();
  });

  it('ends when its client deletes it, once', async () => {
    const session = await begun(url);
    expect((await fetch(url, { method: 'DELETE', headers: session })).status).toBe(200);
    expect((await fetch(url, { method: 'DELETE', headers: session })).status).toBe(404);
    await sessions.close();
    expect([await counted('deleted'), await counted('closing'), await counted(OPEN)]).toEqual([1, 0, 0]);
  });

  it('ends for another one when there are too many, the one that was still for longest first', {
    timeout: 60_000,
  }, async () => {
    const first = await begun(url);
    const second = await begun(url);
    for (let count = 2; count < SESSIONS_MAX; count++) await begun(url);
    sessions.find(first['mcp-session-id'] ?? '');
    await begun(url);
    expect([await counted('displaced'), await counted(OPEN)]).toEqual([1, SESSIONS_MAX]);
    expect(sessions.find(first['mcp-session-id'] ?? '')).toBeDefined();
    expect(sessions.find(second['mcp-session-id'] ?? '')).toBeUndefined();
  });

  it('ends with its node', async () => {
    await begun(url);
    await begun(url);
    await sessions.close();
    expect([await counted('closing'), await counted(OPEN), sessions.count]).toEqual([2, 0, 0]);
  });
});

describe('the id of a session', () => {
  const uuid = crypto.randomUUID();

  it.each([
    [`7.${uuid}`, 7],
    [`4294967295.${uuid}`, 4_294_967_295],
    [`4294967296.${uuid}`, undefined],
    [`0.${uuid}`, undefined],
    [`07.${uuid}`, undefined],
    [`7.0.${uuid}`, undefined],
    [`7.${uuid.toUpperCase()}X`, undefined],
    [`7${uuid}`, undefined],
    [`.${uuid}`, undefined],
    [` 7.${uuid}`, undefined],
    [`7e0.${uuid}`, undefined],
    [`7.${uuid}\n`, undefined],
    ['', undefined],
    ['7.', undefined],
  ])('%j is of node %j', (id, node) => {
    expect(nodeOfSession(id)).toBe(node);
  });
});
