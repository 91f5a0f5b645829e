// Goal: what a node asks another one for a request is part of its trace: the question on the node that asks, the answer
// on the node that is asked, and the entry of its log; what is not kept is kept by no node.
// Method: three real nodes, a collector on loopback that reads what they export, and requests to a node that does not
// lead.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { event as grpcEvent, transaction } from '../support/grpc-requests.ts';
import { HttpClient } from '../support/http-client.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { remote } from '../support/remote-traces.ts';
import { startServerIn, type TestServer } from '../support/server.ts';
import { untilAllAreVoters } from '../support/server-cluster.ts';
import { tempDir } from '../support/temp-dir.ts';
import { endWithFile } from '../support/test-scope.ts';

/** For three nodes to find each other on a machine with other things to do. */
const PROCESSES_MS = 120_000;

let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
});

afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
});

/** A trace that somebody else has begun, and the headers that say so. */
function begun(flags?: string): { readonly traceId: string; readonly headers: { readonly traceparent: string } } {
  const { traceId, traceparent } = remote(flags);
  return { traceId, headers: { traceparent } };
}

async function started(name: string, settings: readonly string[]): Promise<TestServer> {
  const dir = tempDir();
  const node = await startServerIn(dir.path, `--node-name=${name}`, '--peer-port=0', ...settings);
  endWithFile(async () => {
    await node[Symbol.asyncDispose]();
    dir[Symbol.dispose]();
  });
  return node;
}

async function startThree(settings: readonly string[]): Promise<ReadonlyMap<string, TestServer>> {
  const one = await started('one', settings);
  const joining = [`--join=${one.peer}`, ...settings];
  const [two, three] = await Promise.all([started('two', joining), started('three', joining)]);
  await untilAllAreVoters(one, 3);
  return new Map([
    ['one', one],
    ['two', two],
    ['three', three],
  ]);
}

/** Once all three hold the database, and know who leads it. */
async function leaderOf(nodes: ReadonlyMap<string, TestServer>, databaseName: string): Promise<string> {
  return eventually(async () => {
    const told = new Set<string>();
    for (const { client } of nodes.values()) {
      const { trailers } = await client.call('transact', transaction(databaseName, [grpcEvent({ id: 'x' })]));
      told.add(String(trailers['x-leader-node']));
    }
    const [leader] = told;
    if (told.size !== 1 || leader === undefined) throw new Error(`The leader is ${[...told].join(', ')}`);
    return leader;
  });
}

function named(name: string, kind: ReceivedSpan['kind'], spans: readonly ReceivedSpan[]): ReceivedSpan {
  const found = spans.find((span) => span.name === name && span.kind === kind);
  if (found === undefined) throw new Error(`There is no ${kind} span ${name}`);
  return found;
}

async function spansOf(traceId: string, ...names: readonly string[]): Promise<readonly ReceivedSpan[]> {
  const ofTrace = (): readonly ReceivedSpan[] => receiver.spans.filter((span) => span.traceId === traceId);
  const countOf = (name: string): number => ofTrace().filter((span) => span.name === name).length;
  const wanted = new Map(names.map((name) => [name, names.filter((each) => each === name).length]));
  await receiver.until(`${names.join(', ')} in ${traceId}`, () =>
    [...wanted].every(([name, count]) => countOf(name) >= count),
  );
  return ofTrace();
}

const nodeOf = ({ resource }: ReceivedSpan): unknown => resource['service.instance.id'];

const event = (id: string): object => ({ id, source: '/s/orders', specversion: '1.0', type: 'placed' });

describe.concurrent('SPEC-TRACE-CONTEXT between a node and the one that leads', () => {
  let nodes: ReadonlyMap<string, TestServer>;
  let leader: string;
  let follower: string;
  let api: HttpClient;

  beforeAll(async () => {
    const settings = [`--otlp-endpoint=${receiver.endpoint}`, '--trace-sample-ratio=0'];
    nodes = await startThree(settings);
    const [first] = nodes.values();
    await new HttpClient(first?.http ?? '').create('shop');
    leader = await leaderOf(nodes, 'shop');
    follower = [...nodes.keys()].find((name) => name !== leader) ?? '';
    api = new HttpClient(nodes.get(follower)?.http ?? '');
  }, PROCESSES_MS);

  it('a write that is forwarded shows the question, its answer and the entry', async () => {
    const { traceId, headers } = begun();
    expect((await api.post('/databases/shop/events', { events: [event('a')] }, headers)).status).toBe(200);
    const method = 'cairn.peer/Propose';
    const spans = await spansOf(traceId, 'cairn.propose', method, method, 'cairn.entry');
    const [proposal, asked, answered, entry] = [
      named('cairn.propose', 'internal', spans),
      named(method, 'client', spans),
      named(method, 'server', spans),
      named('cairn.entry', 'internal', spans),
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
    const spans = await spansOf(traceId, 'cairn.read_barrier', method, method);
    const [barrier, asked, answered] = [
      named('cairn.read_barrier', 'internal', spans),
      named(method, 'client', spans),
      named(method, 'server', spans),
    ];
    expect([asked.parentId, answered.parentId]).toEqual([barrier.spanId, asked.spanId]);
    expect([asked, answered].map(nodeOf)).toEqual([follower, leader]);
    expect(answered.attributes).toMatchObject({ 'cairn.database': 'shop', 'cairn.peer.name': follower });
  });

  it('a database that is created and deleted where the catalog is not led shows both orders', async () => {
    // One of the two does not lead the catalog.
    for (const [name, { http }] of nodes) {
      const { traceId, headers } = begun();
      const created = await new HttpClient(http).post('/api/v1/db', { database_name: `of-${name}` }, headers);
      expect(created.status).toBe(201);
      const path = `/api/v1/db/of-${name}`;
      const deleting = begun();
      expect((await new HttpClient(http).send(path, { method: 'DELETE', headers: deleting.headers })).status).toBe(204);
      const spans = await spansOf(traceId, 'cairn.create_database', 'cairn.entry');
      const entry = named('cairn.entry', 'internal', spans);
      const isHere = nodeOf(entry) === name;
      if (isHere) continue;
      const operation = named('cairn.create_database', 'internal', spans);
      const asked = named('cairn.peer/CreateDatabase', 'client', spans);
      const answered = named('cairn.peer/CreateDatabase', 'server', spans);
      expect([asked.parentId, answered.parentId]).toEqual([operation.spanId, asked.spanId]);
      expect([operation, asked, answered].map(nodeOf)).toEqual([name, name, nodeOf(entry)]);
      const method = 'cairn.peer/Propose';
      const after = await spansOf(deleting.traceId, 'cairn.delete_database', method, method);
      expect(named(method, 'server', after).parentId).toBe(named(method, 'client', after).spanId);
    }
    const shown = receiver.spans.filter(({ name, kind }) => name === 'cairn.peer/CreateDatabase' && kind === 'server');
    expect(shown).toHaveLength(2);
  });

  it('a request whose trace is not kept is kept by no node', async () => {
    const { traceId, headers } = begun('00');
    expect((await api.post('/databases/shop/events', { events: [event('c')] }, headers)).status).toBe(200);
    // What was asked later has come from both nodes.
    const later = begun();
    await api.post('/databases/shop/events', { events: [event('d')] }, later.headers);
    await spansOf(later.traceId, 'cairn.propose', 'cairn.entry');
    expect(receiver.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});
