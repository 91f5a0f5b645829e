// One request is one trace over each interface and over relays. A collector on loopback receives the spans.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { event as grpcEvent, transaction } from '../support/grpc-requests.ts';
import { HttpClient, jsonOf } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { begun, READY, send, untilPassedOn } from '../support/mcp-requests.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { named, remote, spansOf as spansOfTrace, traceWith as traceIn, wayTo } from '../support/remote-traces.ts';
import { startTestServer } from '../support/server.ts';
import { endWithFile } from '../support/test-scope.ts';
import { startTwoNodes, type TwoNodes } from '../support/two-nodes.ts';

/** Limit for two nodes that find each other, or two processes that load a node, on a busy machine. */
const PROCESSES_MS = 120_000;
const SECRET = 'sesame-of-the-test';

const receiver = await startOtlpReceiver();
endWithFile(() => receiver[Symbol.asyncDispose]());
const { server, api } = await startHttpNode(`--otlp-endpoint=${receiver.endpoint}`, '--trace-sample-ratio=0');

beforeAll(async () => {
  await api.create('shop');
  await api.commit('shop', event('first'));
});

const event = (id: string, extensions: Readonly<Record<string, string>> = {}): object => {
  return { id, source: '/s/orders', specversion: '1.0', type: 'placed', subject: SECRET, ...extensions };
};

const spansOf = (traceId: string): readonly ReceivedSpan[] => spansOfTrace(receiver, traceId);
const traceWith = (traceId: string, ...names: readonly string[]): Promise<readonly ReceivedSpan[]> =>
  traceIn(receiver, traceId, ...names);

describe.concurrent('SPEC-TRACE-CONTEXT over HTTP', () => {
  it('a transaction is one trace, from the context of the request to its entry and its outcome', async () => {
    const { traceId, spanId, traceparent } = remote();
    const answer = await api.post('/databases/shop/events', { events: [event('a')] }, { traceparent });
    const { revision } = jsonOf(answer) as { readonly revision: number };
    const spans = await traceWith(traceId, 'POST /databases/{database}/events', 'cairn.propose');
    const seen = wayTo('cairn.propose', spans);
    expect(seen).toEqual(['POST /databases/{database}/events', 'cairn.transact', 'cairn.propose']);
    const request = named('POST /databases/{database}/events', spans);
    expect(request).toMatchObject({
      parentId: spanId,
      kind: 'server',
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/databases/{database}/events',
        'http.response.status_code': 200,
        'cairn.revision': revision,
      },
      resource: { 'service.name': 'cairn', 'service.instance.id': 'node-1' },
    });
    expect(named('cairn.transact', spans).attributes).toMatchObject({
      'db.system.name': 'cairn',
      'db.operation.name': 'transact',
      'cairn.database': 'shop',
      'cairn.result': 'recorded',
      'cairn.revision': revision,
    });
    const proposal = named('cairn.propose', spans);
    expect(proposal).toMatchObject({ events: ['cairn.admitted'], attributes: { 'cairn.result': 'committed' } });
    expect(proposal.endNs).toBeGreaterThan(proposal.startNs);
  });

  it('a query shows the wait for its revision, and the reads of its slices', async () => {
    const { traceId, traceparent } = remote();
    const answer = await api.get('/db/shop/1/events', { traceparent });
    expect(answer.status).toBe(200);
    const spans = await traceWith(traceId, 'cairn.read_barrier', 'cairn.read_slices', 'cairn.query_events');
    expect(wayTo('cairn.read_barrier', spans).slice(-2)).toEqual(['cairn.query_events', 'cairn.read_barrier']);
    expect(named('cairn.read_slices', spans).attributes).toMatchObject({ 'cairn.events': 1 });
  });

  it.each([
    ['POST', '/databases/shop/events', { events: [event('floor')] }, 'cairn.transact'],
    ['DELETE', '/databases/shop', undefined, 'cairn.delete_database'],
    ['DELETE', '/databases/shop/state-views/any', undefined, 'cairn.delete_versions'],
    ['POST', '/api/v1/db/shop/state-changes/any/v1/execute', { method: 'POST', path: '/' }, 'cairn.execute_command'],
  ])('a write shows the wait for the revision that its node needs: %s %s', async (method, path, body, operation) => {
    const { traceId, traceparent } = remote();
    const headers = { traceparent, 'x-min-revision': '1000' };
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    expect((await api.send(path, sent)).status).toBe(404);
    const spans = await traceWith(traceId, 'cairn.read_barrier', operation);
    expect(wayTo('cairn.read_barrier', spans).slice(-2)).toEqual([operation, 'cairn.read_barrier']);
    expect(named('cairn.read_barrier', spans)).toMatchObject({
      isError: true,
      attributes: { 'cairn.at': 'revision', 'cairn.error.reason': 'RevisionNotFound' },
    });
  });

  it('a refusal has its code, and is no error of the node', async () => {
    const { traceId, traceparent } = remote();
    expect((await api.get('/db/nothing/latest', { traceparent })).status).toBe(404);
    const spans = await traceWith(traceId, 'cairn.database_at', 'GET /db/{database}/{revision}');
    expect(named('cairn.database_at', spans)).toMatchObject({
      isError: true,
      attributes: { 'error.type': 'not_found', 'cairn.error.reason': 'DatabaseNotFound' },
    });
    const wanted = { isError: false, attributes: { 'http.response.status_code': 404 } };
    expect(named('GET /db/{database}/{revision}', spans)).toMatchObject(wanted);
  });
});

describe.concurrent('SPEC-TRACE-CONTEXT over gRPC', () => {
  it('a transaction and a query continue the trace of their metadata', async () => {
    const { traceId, spanId, traceparent } = remote();
    const metadata = { traceparent, tracestate: 'vendor=1' };
    await server.client.send('transact', transaction('shop', [grpcEvent({ id: 'g' })]), { metadata });
    const spans = await traceWith(traceId, 'cairn.v1.EventStore/Transact', 'cairn.propose');
    expect(wayTo('cairn.propose', spans)).toEqual(['cairn.v1.EventStore/Transact', 'cairn.transact', 'cairn.propose']);
    expect(named('cairn.v1.EventStore/Transact', spans)).toMatchObject({
      parentId: spanId,
      kind: 'server',
      attributes: {
        'rpc.system.name': 'grpc',
        'rpc.method': 'cairn.v1.EventStore/Transact',
        'rpc.response.status_code': 'OK',
      },
    });
    const read = remote();
    const asked = { traceparent: read.traceparent };
    await server.client.send('fetchLatestDatabase', { databaseName: 'shop' }, { metadata: asked });
    const reading = await traceWith(read.traceId, 'cairn.v1.EventStore/FetchLatestDatabase', 'cairn.read_barrier');
    expect(named('cairn.read_barrier', reading).attributes).toMatchObject({ 'cairn.at': 'latest' });
  });
});

describe.concurrent('SPEC-TRACE-CONTEXT over MCP', () => {
  it('a tool and its HTTP request are one trace, by _meta or by the header', async () => {
    const byHeader = remote();
    const transport = new StreamableHTTPClientTransport(new URL(server.mcp), {
      requestInit: { headers: { traceparent: byHeader.traceparent } },
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const byMeta = remote();
    const call = { name: 'fetch', arguments: { path: '/db/shop/latest' } };
    await client.callTool({ ...call, _meta: { traceparent: byMeta.traceparent } });
    await client.callTool(call);
    for (const { traceId, spanId } of [byMeta, byHeader]) {
      const spans = await traceWith(traceId, 'tools/call fetch', 'GET', 'GET /db/{database}/{revision}');
      const found = wayTo('cairn.database_at', spans);
      expect(found).toEqual(['tools/call fetch', 'GET', 'GET /db/{database}/{revision}', 'cairn.database_at']);
      expect(named('tools/call fetch', spans)).toMatchObject({
        parentId: spanId,
        kind: 'server',
        attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'fetch' },
      });
      expect(named('GET', spans).kind).toBe('client');
    }
    await client.close();
  });
});

describe.concurrent('SPEC-EVENT-TRACING', () => {
  it('the trace context of an event is stored unchanged, and linked from its transaction', async () => {
    const { traceId, traceparent } = remote();
    const made = remote();
    const extensions = { traceparent: made.traceparent, tracestate: 'vendor=2' };
    const events = [event('c', extensions), event('d', extensions), event('e', { traceparent: 'no context' })];
    const answer = await api.post('/databases/shop/events', { events }, { traceparent });
    const { revision } = jsonOf(answer) as { readonly revision: number };
    const stored = jsonOf(await api.get(`/db/shop/${revision}/events?limit=100`)) as { events: object[] };
    expect(stored.events).toContainEqual(expect.objectContaining({ id: 'c', ...extensions }));
    expect(stored.events).toContainEqual(expect.objectContaining({ id: 'e', traceparent: 'no context' }));
    const spans = await traceWith(traceId, 'cairn.transact');
    expect(named('cairn.transact', spans).links).toEqual([
      { traceId: made.traceId, spanId: made.spanId, state: 'vendor=2' },
    ]);
  });
});

describe('SPEC-TRACE-EXPORT', () => {
  it('a collector that does not answer loses spans, which are counted, and no request', async () => {
    const { traceparent } = remote();
    const { requests } = receiver;
    receiver.status = 400;
    for (const id of ['x', 'y', 'z']) {
      expect((await api.post('/databases/shop/events', { events: [event(id)] }, { traceparent })).status).toBe(200);
    }
    await eventually(async () => {
      const metrics = await (await fetch(server.metrics)).text();
      const [ended, exported] = ['ended', 'exported'].map((what) =>
        countOf(metrics, `cairn_trace_spans_${what}_total`),
      );
      expect(exported).toBeGreaterThan(0);
      expect(ended).toBeGreaterThan(exported ?? 0);
      expect(receiver.requests).toBeGreaterThan(requests);
    });
    receiver.status = 200;
    const later = remote();
    await api.get('/databases/shop', { traceparent: later.traceparent });
    await traceWith(later.traceId, 'GET /databases/{database}');
  });

  it('spans that are not exported yet are sent before the node ends', async () => {
    const ending = await startTestServer(`--otlp-endpoint=${receiver.endpoint}`, '--node-name=ending');
    await new HttpClient(ending.http).create('last');
    await ending[Symbol.asyncDispose]();
    const ofIt = receiver.spans.filter(({ resource }) => resource['service.instance.id'] === 'ending');
    expect(ofIt.map(({ name }) => name)).toEqual(expect.arrayContaining(['cairn.create_database', 'POST /api/v1/db']));
  });

  it(
    'the SDK is loaded only with a collector',
    async () => {
      const [off, on] = await Promise.all([loadedBy(), loadedBy(`--otlp-endpoint=${receiver.endpoint}`)]);
      // The package of the metrics loads the OpenTelemetry API, which has no effect by itself.
      const isOfSdk = (url: string): boolean => /@opentelemetry\/(?!api\/)/.test(url);
      expect(off.filter(isOfSdk)).toEqual([]);
      // The small module that loads the SDK is always loaded.
      expect(off.filter((url) => /observability\/otel\/(?!tracing\.ts)/.test(url))).toEqual([]);
      expect(on.some((url) => url.includes('@opentelemetry/sdk-trace'))).toBe(true);
    },
    PROCESSES_MS,
  );
});

function countOf(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

async function loadedBy(...settings: readonly string[]): Promise<readonly string[]> {
  const child = join(import.meta.dirname, '../support/loaded-modules-child.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=source', child, ...settings]);
  return JSON.parse(stdout) as readonly string[];
}

describe.concurrent('SPEC-TRACE-CONTEXT between nodes', () => {
  let nodes: TwoNodes;

  beforeAll(async () => {
    nodes = await startTwoNodes('far', `--otlp-endpoint=${receiver.endpoint}`, '--trace-sample-ratio=0');
  }, PROCESSES_MS);

  it('a relayed request is one trace over both nodes, over HTTP and gRPC', async () => {
    const { traceId, traceparent } = remote();
    const here = new HttpClient(nodes.other.http);
    expect((await here.post('/databases/far/events', { events: [event('a')] }, { traceparent })).status).toBe(200);
    const path = 'POST /databases/{database}/events';
    await receiver.until('span of both nodes', () => spansOf(traceId).filter(({ name }) => name === path).length === 2);
    const spans = await traceWith(traceId, 'cairn.relay', 'cairn.propose');
    expect(wayTo('cairn.propose', spans)).toEqual([path, 'cairn.relay', path, 'cairn.transact', 'cairn.propose']);
    const relay = named('cairn.relay', spans);
    expect(relay).toMatchObject({
      kind: 'client',
      attributes: { 'cairn.relay.protocol': 'http', 'cairn.relay.result': 'answered' },
    });
    expect(new Set(spans.map(({ resource }) => resource['service.instance.id']))).toEqual(new Set(['one', 'two']));

    const read = remote();
    const asked = { traceparent: read.traceparent };
    await nodes.other.client.send('fetchLatestDatabase', { databaseName: 'far' }, { metadata: asked });
    const reading = await traceWith(read.traceId, 'cairn.relay', 'cairn.read_barrier');
    expect(wayTo('cairn.read_barrier', reading)).toEqual([
      'cairn.v1.EventStore/FetchLatestDatabase',
      'cairn.relay',
      'cairn.v1.EventStore/FetchLatestDatabase',
      'cairn.database_at',
      'cairn.read_barrier',
    ]);
  });

  it('an MCP call whose session is on another node is one trace over both nodes', async () => {
    const { holder, other } = nodes;
    await untilPassedOn(other.mcp, holder.mcp);
    const session = await begun(holder.mcp);
    await send(holder.mcp, READY, session);
    const { traceId, spanId, traceparent } = remote();
    const params = { name: 'fetch', arguments: { path: '/db/far/latest' } };
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params };
    expect((await send(other.mcp, call, { ...session, traceparent })).status).toBe(200);
    const spans = await traceWith(traceId, 'POST /', 'cairn.relay', 'tools/call fetch', 'GET', 'cairn.database_at');
    expect(wayTo('cairn.database_at', spans)).toEqual([
      'POST /',
      'cairn.relay',
      'tools/call fetch',
      'GET',
      'GET /db/{database}/{revision}',
      'cairn.database_at',
    ]);
    const [came, relay, called] = ['POST /', 'cairn.relay', 'tools/call fetch'].map((name) => named(name, spans));
    expect(came).toMatchObject({ parentId: spanId, kind: 'server', attributes: { 'http.response.status_code': 200 } });
    expect(relay).toMatchObject({
      kind: 'client',
      attributes: { 'cairn.relay.protocol': 'mcp', 'cairn.relay.result': 'answered', 'server.address': '127.0.0.1' },
    });
    const nodeOf = (span: ReceivedSpan | undefined): unknown => span?.resource['service.instance.id'];
    expect(nodeOf(came)).toBe(nodeOf(relay));
    expect(nodeOf(called)).not.toBe(nodeOf(relay));

    const byMeta = remote();
    const ofMeta = { ...call, params: { ...params, _meta: { traceparent: byMeta.traceparent } } };
    await send(other.mcp, ofMeta, { ...session, traceparent });
    const apart = await traceWith(byMeta.traceId, 'tools/call fetch');
    const linked = named('tools/call fetch', apart);
    expect([linked.parentId, linked.links]).toEqual([byMeta.spanId, [expect.objectContaining({ traceId })]]);
  });
});
