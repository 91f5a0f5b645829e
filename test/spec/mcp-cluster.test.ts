// Sessions of MCP continue at every node of a cluster, and forged ids and marks have no effect (TC5, TC6).
import { once } from 'node:events';
import { request as sendHttp } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RELAYED } from '../../src/transport/relay.ts';
import { eventually } from '../support/eventually.ts';
import { BOTH, begun, type Headers, LIST, READY, send, untilPassedOn } from '../support/mcp-requests.ts';
import { seriesAt, untilRendered } from '../support/metrics-page.ts';
import { startTestServer } from '../support/server.ts';
import { startNodes } from '../support/server-cluster.ts';

const MADE_UP = '5f0c1a52-7c1e-4b7c-9f0e-2d1f0f6f3a10';
const nodes = await startNodes();
const [one = '', two = '', three = ''] = nodes.map(({ mcp }) => mcp);

beforeAll(async () => {
  for (const from of nodes) {
    for (const to of nodes) await untilPassedOn(from.mcp, to.mcp);
  }
}, 60_000);

const listen = (url: string, headers: Headers, signal?: AbortSignal): Promise<Response> =>
  fetch(url, { headers: { accept: 'text/event-stream', ...headers }, ...(signal && { signal }) });

const metrics = nodes[1].metrics;
const relayed = (result: string): Promise<number> =>
  seriesAt(metrics, `cairn_relayed_requests_total{protocol="mcp",result="${result}"}`);

describe('SPEC-MCP-CLUSTER', () => {
  it('a session that began at one node can be used at the second, listened to at the third and ended at any', async () => {
    const session = await begun(one);
    expect((await send(two, READY, session)).status).toBe(202);
    const listed = await send(three, LIST, session);
    expect([listed.status, listed.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(listed.text).toContain('execute_state_change');
    const call = { name: 'fetch', arguments: { method: 'POST', path: '/api/v1/db', body: { database_name: 'far' } } };
    const called = await send(two, { jsonrpc: '2.0', id: 3, method: 'tools/call', params: call }, session);
    expect([called.status, called.text]).toEqual([200, expect.stringContaining('far')]);

    const stream = await listen(three, session);
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const all = stream.text();
    expect((await fetch(two, { method: 'DELETE', headers: session })).status).toBe(200);
    expect(await all).toBe('');
    for (const { mcp } of nodes) expect((await send(mcp, LIST, session)).status).toBe(404);
  });

  it('a missed message can be read at another node (Last-Event-ID)', async () => {
    const session = await begun(one);
    await send(one, READY, session);
    const [, id = ''] = /^id: (\d+)$/m.exec((await send(two, LIST, session)).text) ?? [];
    const before = { ...session, 'last-event-id': String(Number(id) - 1) };
    const again = await listen(three, before);
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  it('a client that disconnects is disconnected at the node of its session, too', async () => {
    const session = await begun(one);
    await send(two, READY, session);
    const leaving = new AbortController();
    expect((await listen(two, session, leaving.signal)).status).toBe(200);
    // A session has one stream at a time, so the refusal shows that its node knows about the first one.
    expect((await listen(three, session)).status).toBe(409);
    const before = await relayed('abandoned');
    leaving.abort();
    const next = await eventually(async () => {
      const stream = await listen(three, session);
      if (stream.status !== 200) throw new Error(String(stream.status));
      return stream;
    });
    await next.body?.cancel();
    await eventually(async () => expect(await relayed('abandoned')).toBe(before + 1));
  });

  it('a request is abandoned when its client disconnects before it has sent the whole body', async () => {
    const session = await begun(one);
    const before = await relayed('abandoned');
    const headers = { 'content-type': 'application/json', accept: BOTH, 'content-length': '1000', ...session };
    const half = sendHttp(two, { method: 'POST', headers });
    half.on('error', () => undefined).write('{');
    expect((await send(two, READY, session)).status).toBe(202);
    half.destroy();
    await eventually(async () => expect(await relayed('abandoned')).toBe(before + 1));
  });

  it('a session belongs to the caller that began it, at every node', async () => {
    const mine = { authorization: 'Bearer one' };
    const session = await begun(one, mine);
    expect((await send(two, READY, { ...session, authorization: 'Bearer two' })).status).toBe(403);
    expect((await send(two, READY, { ...session, ...mine })).status).toBe(202);
    expect((await send(three, LIST, { ...session, ...mine })).status).toBe(200);
    expect((await send(three, LIST, session)).status).toBe(200);
  });

  it('a node that closes ends the streams that it relays, and its sessions', async () => {
    const other = await startTestServer('--peer-port=0', '--node-name=other', `--join=${nodes[0]?.peer}`);
    const { stream, session } = await (async () => {
      await using _ = other;
      await untilPassedOn(two, other.mcp);
      await untilPassedOn(other.mcp, one);
      const held = await begun(one);
      await send(one, READY, held);
      return { stream: await listen(other.mcp, held), session: await begun(other.mcp) };
    })();
    expect([stream.status, await stream.text()]).toEqual([200, '']);
    const { status, text: told } = await send(two, LIST, session);
    expect([status, told]).toEqual([404, expect.stringMatching(/is not reached; begin with initialize/)]);
    await eventually(async () => expect(await relayed('unreached')).toBeGreaterThan(0));
  });
});

describe('SPEC-MCP-CLUSTER: a forged request', () => {
  it('is not relayed: one of a foreign page, and one with the mark of a relayed request', async () => {
    const session = await begun(one);
    await untilRendered(metrics);
    const before = await relayed('answered');
    expect((await send(two, READY, { ...session, origin: 'https://evil.example' })).status).toBe(403);
    expect((await send(one, READY, { ...session, [RELAYED]: 'two' })).status).toBe(202);
    expect((await send(two, LIST, { ...session, [RELAYED]: 'three' })).status).toBe(404);
    expect((await send(two, LIST, { ...session, [RELAYED]: '' })).status).toBe(404);
    expect((await send(one, LIST, { ...session, [RELAYED]: 'one' })).status).toBe(200);
    expect((await send(two, LIST, session)).status).toBe(200);
    await untilRendered(metrics);
    expect(await relayed('answered')).toBe(before + 1);
  });

  it.each([`1.${MADE_UP}`, `2.${MADE_UP}`, `4294967295.${MADE_UP}`, `1.${'5'.repeat(10_000)}`, MADE_UP])(
    'gets 404 for the id %.50s',
    async (id) => {
      const { status, text: told } = await send(two, LIST, { 'mcp-session-id': id });
      expect([status, told]).toEqual([404, expect.stringContaining('begin with initialize')]);
      expect(told.length).toBeLessThan(300);
    },
  );

  it('in the body of a GET is not read as a request', async () => {
    const session = await begun(one);
    await send(one, READY, session);
    const { port } = new URL(two);
    const inner = `DELETE / HTTP/1.1\r\nhost: 127.0.0.1\r\nmcp-session-id: ${session['mcp-session-id']}\r\n\r\n`;
    const socket = connect(Number(port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const head = `GET / HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\nmcp-session-id: ${session['mcp-session-id']}`;
    socket.write(`${head}\r\ncontent-length: ${inner.length}\r\n\r\n${inner}`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 406 /);
    socket.write(`${head}\r\ntransfer-encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`);
    const [next] = (await once(socket, 'data')) as [Buffer];
    expect(next.toString()).toMatch(/^HTTP\/1\.1 406 /);
    expect((await send(three, LIST, session)).status).toBe(200);
  });
});
