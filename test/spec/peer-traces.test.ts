// Goal: what a node asks another one for a request is part of its trace: the question on the node that asks, the answer
// on the node that is asked, and the entry of its log; what is not kept is kept by no node. Method: three real nodes, a
// collector on loopback that reads what they export, and requests to a node that does not lead.
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, HttpClient } from '../support/http-client.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { named, remote, traceWith } from '../support/remote-traces.ts';
import { startNodes } from '../support/server-cluster.ts';
import { endWithFile } from '../support/test-scope.ts';

const receiver = await startOtlpReceiver();
endWithFile(() => receiver[Symbol.asyncDispose]());
const NAMES = ['one', 'two', 'three'];
const servers = await startNodes([`--otlp-endpoint=${receiver.endpoint}`, '--trace-sample-ratio=0']);
const nodes = new Map(NAMES.map((name, at) => [name, servers[at] ?? servers[0]]));
await new HttpClient(servers[0].http).create('shop');
const leader = await leaderOf('shop');
const follower = NAMES.find((name) => name !== leader) ?? '';
const api = new HttpClient(nodes.get(follower)?.http ?? '');

/** A trace that somebody else has begun, and the headers that say so. */
function begun(flags?: string): { readonly traceId: string; readonly headers: { readonly traceparent: string } } {
  const { traceId, traceparent } = remote(flags);
  return { traceId, headers: { traceparent } };
}

/** Once all three hold the database, and know who leads it. */
async function leaderOf(databaseName: string): Promise<string> {
  return eventually(async () => {
    const told = new Set<string>();
    for (const { client } of servers) {
      const { trailers } = await client.call('transact', transaction(databaseName, [event({ id: 'x' })]));
      told.add(String(trailers['x-leader-node']));
    }
    const [only] = told;
    if (told.size !== 1 || only === undefined) throw new Error(`The leader is ${[...told].join(', ')}`);
    return only;
  });
}

const nodeOf = ({ resource }: ReceivedSpan): unknown => resource['service.instance.id'];

describe.concurrent('SPEC-TRACE-CONTEXT between a node and the one that leads', () => {
  it('a write that is forwarded shows the question, its answer and the entry', async () => {
    const { traceId, headers } = begun();
    expect((await api.post('/databases/shop/events', { events: [cloudEvent('a')] }, headers)).status).toBe(200);
    const method = 'cairn.peer/Propose';
    const spans = await traceWith(receiver, traceId, 'cairn.propose', method, method, 'cairn.entry');
    const [proposal, asked, answered, entry] = [
      named('cairn.propose', spans, 'internal'),
      named(method, spans, 'client'),
      named(method, spans, 'server'),
      named('cairn.entry', spans, 'internal'),
    ];
    expect([proposal, asked, answered, entry].map(nodeOf)).toEqual([follower, follower, leader, leader]);
    expect([asked.parentId, answered.parentId, entry.parentId]).toEqual([
      proposal.spanId,
      asked.spanId,
      answered.spanId,
    ]);
    expect(asked).toMatchObject({
      isError: false,
      attributes: {
        'rpc.system.name': 'cairn',
        'rpc.method': method,
        'cairn.database': 'shop',
        'cairn.peer.name': leader,
        'server.address': '127.0.0.1',
        'server.port': Number(nodes.get(leader)?.peer.split(':').at(-1)),
      },
    });
    expect(answered.attributes).toMatchObject({ 'cairn.peer.name': follower, 'client.address': '127.0.0.1' });
    expect(entry.events.toSorted()).toEqual(['cairn.committed', 'cairn.synced']);
    expect(entry.endNs).toBeGreaterThan(entry.startNs);
    expect(spans.filter(({ name }) => name === 'cairn.entry')).toHaveLength(1);
  });

  it('a read of latest shows the question for its index', async () => {
    const { traceId, headers } = begun();
    const at = { databaseName: 'shop' };
    await nodes.get(follower)?.client.send('fetchLatestDatabase', at, { metadata: headers });
    const method = 'cairn.peer/ReadIndex';
    const spans = await traceWith(receiver, traceId, 'cairn.read_barrier', method, method);
    const [barrier, asked, answered] = [
      named('cairn.read_barrier', spans, 'internal'),
      named(method, spans, 'client'),
      named(method, spans, 'server'),
    ];
    expect([asked.parentId, answered.parentId]).toEqual([barrier.spanId, asked.spanId]);
    expect([asked, answered].map(nodeOf)).toEqual([follower, leader]);
    expect(answered.attributes).toMatchObject({ 'cairn.database': 'shop', 'cairn.peer.name': follower });
  });

  it('a request whose trace is not kept is kept by no node', async () => {
    const { traceId, headers } = begun('00');
    expect((await api.post('/databases/shop/events', { events: [cloudEvent('c')] }, headers)).status).toBe(200);
    // What was asked later has come from both nodes.
    const later = begun();
    await api.post('/databases/shop/events', { events: [cloudEvent('d')] }, later.headers);
    await traceWith(receiver, later.traceId, 'cairn.propose', 'cairn.entry');
    expect(receiver.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});
