// Goal: a node without a replica answers every gRPC method byte for byte like one with a replica (TM5), and relays once
// (TM6). Method: two real nodes and the same calls to both.
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FetchCatalogReply, SubscribeEventsRequest } from '../../../proto/gen/cairn/v1/database.ts';
import { Direction } from '../../../proto/gen/cairn/v1/event.ts';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { frame } from '../../../src/transport/grpc/wire/framing.ts';
import { RELAYED } from '../../../src/transport/relay.ts';
import { eventually } from '../../support/eventually.ts';
import { iterate } from '../../support/grpc-client.ts';
import { event, maxRevision, transaction } from '../../support/grpc-requests.ts';
import { seriesAt, untilRendered } from '../../support/metrics-page.ts';
import { RawGrpc, type RawReply } from '../../support/raw-grpc.ts';
import { startTwoNodes, type TwoNodes } from '../../support/two-nodes.ts';

const DATABASE = 'shop';
const databaseName = DATABASE;
const IDS = Array.from({ length: 5 }, (_, n) => `0193a1b2-c3d4-7e5f-8a9b-10000000000${n}`);
const LARGE = 'x'.repeat(30_000);

let nodes: TwoNodes;
let holder: RawGrpc;
let other: RawGrpc;

beforeAll(async () => {
  nodes = await startTwoNodes(DATABASE);
  holder = new RawGrpc(nodes.holder.port);
  other = new RawGrpc(nodes.other.port);
  for (const [n, transactionId] of IDS.entries()) {
    const events = Array.from({ length: 20 }, (_, k) => event({ id: `e-${n}-${k}`, data: Buffer.from(LARGE) }));
    const reply = await nodes.other.client.send('transact', transaction(DATABASE, events, { transactionId }));
    if (reply.revision !== n + 1 || reply.replayed) throw new Error(JSON.stringify(reply));
  }
}, 60_000);

afterAll(async () => {
  await holder.close();
  await other.close();
});

interface Ask {
  readonly method: string;
  readonly bytes: Uint8Array;
  readonly headers: Record<string, string>;
}

interface Definition {
  readonly path: string;
  requestSerialize(request: object): Uint8Array;
  requestDeserialize(bytes: Buffer): object;
}

const METHODS = new Map(
  Object.values<Definition>(EventStoreService as never).map((method) => [method.path.split('/').at(-1) ?? '', method]),
);

function ask(method: string, parts: object = {}, headers: Record<string, string> = {}): Ask {
  const definition = METHODS.get(method);
  if (definition === undefined) throw new Error(`There is no method ${method}`);
  const request = { ...definition.requestDeserialize(Buffer.alloc(0)), databaseName, ...parts };
  return { method, bytes: definition.requestSerialize(request), headers };
}

const [FIRST_ID = ''] = IDS;
const UNKNOWN_ID = '0193a1b2-c3d4-7e5f-8a9b-2fffffffffff';
const minRevision = { 'x-min-revision': '3' };
const beyond = { 'x-min-revision': '99' };
const log = { startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };

const transacts = (parts: object, headers: Record<string, string> = {}): Ask =>
  ask('Transact', { ...transaction(DATABASE, [event({ id: 'late' })], parts) }, headers);

const ASKS: readonly Ask[] = [
  ask('CreateDatabase'),
  ask('DeleteDatabase', { databaseId: UNKNOWN_ID }, beyond),
  ask('DeleteDatabase', {}, beyond),
  transacts({ transactionId: FIRST_ID }),
  transacts({ transactionId: FIRST_ID }, minRevision),
  transacts({ constraints: [maxRevision(1)] }),
  ask('Transact', { ...transaction(DATABASE, [event({ id: '' })]) }),
  transacts({}, beyond),
  ask('FetchTransaction', { transactionId: FIRST_ID }),
  ask('FetchTransaction', { transactionId: UNKNOWN_ID }),
  ask('FetchTransaction', { transactionId: 'none' }),
  ask('QueryEvents', { atRevision: 4 }),
  ask('QueryEvents', { atRevision: 99 }),
  ask('QueryEvents', {}, minRevision),
  ask('QueryEventBatches'),
  ask('ScanDatabaseLog', log),
  ask('ScanLogBatches', log),
  ask('ScanLogBatches', { ...log, startRevision: 6 }),
  ask('SubscribeEvents', { after: { revision: 99, index: 0 }, heartbeatMs: 1000 }),
  ask('SubscribeEvents', { heartbeatMs: 1 }),
  ask('FetchLatestDatabase'),
  ask('FetchLatestDatabase', {}, beyond),
  ask('FetchDatabaseAtRevision', { revision: 2 }),
  ask('FetchDatabaseAtRevision', { revision: 99 }),
  ask('DatabaseEffectiveAtTimestamp', { atTimestamp: { seconds: 1, nanos: 0 } }),
  ask('DatabaseEffectiveAtTimestamp', { atTimestamp: { seconds: 9e9, nanos: 0 } }),
  ask('AwaitDatabase', { atRevision: 5 }),
];

function sent(to: RawGrpc, { method, bytes, headers }: Ask, more: Record<string, string> = {}): Promise<RawReply> {
  const path = `/cairn.v1.EventStore/${method}`;
  return to.call({ path, pieces: [frame(bytes)], headers: { ...headers, ...more } });
}

function seen({ headers, trailers, body, status, message, resetCode }: RawReply): object {
  const undated = ({ date: _date, ...others }: IncomingHttpHeaders): object => others;
  return {
    headers: undated(headers),
    trailers: undated(trailers),
    body: body.toString('hex'),
    status,
    message,
    resetCode,
  };
}

describe('a call to a node without a replica (TM5)', () => {
  it('is answered like by the node that has one', async () => {
    const answers = async (raw: RawGrpc): Promise<readonly unknown[]> =>
      Promise.all(ASKS.map(async (each) => ({ each, seen: seen(await sent(raw, each)) })));
    expect(await answers(other)).toEqual(await answers(holder));
  });

  it('has the same list of all databases on both nodes', async () => {
    const request = { path: '/cairn.v1.EventStore/FetchCatalog', pieces: [frame(new Uint8Array(0))] };
    const [here, there] = [await holder.call(request), await other.call(request)];
    expect(FetchCatalogReply.decode(here.body.subarray(5)).databases).toMatchObject([{ name: DATABASE, revision: 5 }]);
    expect(seen(there)).toEqual(seen(here));
    // A relayed request is answered with local data only, so that requests do not circulate.
    const asked = { ...request, headers: { [RELAYED]: 'somebody' } };
    expect((await other.call(asked)).body).toHaveLength(5);
  });

  it('is tested for every method of this release', () => {
    const asked = new Set(ASKS.map(({ method }) => method));
    // Methods of components and keys are called on several nodes by test/spec/components-on-every-node.test.ts and
    // test/spec/keys-and-tokens-on-every-node.test.ts.
    const isElsewhere = /View|Change|Presenter|Component|Snapshots|ApiKey/;
    expect([...METHODS.keys()].filter((method) => !isElsewhere.test(method) && !asked.has(method))).toEqual([
      'FetchCatalog',
    ]);
  });

  it('is relayed once (TM6)', async () => {
    const reply = await sent(other, ask('FetchLatestDatabase'), { [RELAYED]: 'somebody' });
    expect(reply).toMatchObject({ status: 14 });
    expect(reply.message).toContain('has no replica of the database');
  });
});

it('a stream over a node without a replica has writes at any node, and ends with its reader', async () => {
  const name = 'live';
  const made = { databaseName, after: { revision: 5, index: 19 }, heartbeatMs: 200 };
  const request = SubscribeEventsRequest.fromPartial(made);
  const stream = nodes.other.client.open('subscribeEvents', request);
  const items = iterate(stream);
  expect(await items.next()).toMatchObject({ value: { message: { $case: 'heartbeat' } } });
  await nodes.other.client.send('transact', transaction(DATABASE, [event({ id: name })]));
  await nodes.holder.client.send('transact', transaction(DATABASE, [event({ id: `${name}-2` })]));
  const ids: string[] = [];
  for await (const { message } of items) {
    if (message?.$case === 'event') ids.push(message.value.id);
    if (ids.length === 2) break;
  }
  expect(ids).toEqual([name, `${name}-2`]);
  stream.cancel();
  await eventually(async () => expect(await open('subscribe')).toBe(0));
});

it('a stream over a node without a replica is read only as fast as its reader reads', async () => {
  const op = 'scan_batches';
  const stream: ClientHttp2Stream = other.session.request({
    ':method': 'POST',
    ':path': '/cairn.v1.EventStore/ScanLogBatches',
    'content-type': 'application/grpc',
  });
  stream.end(frame(ask('ScanLogBatches', log).bytes));
  stream.pause();
  await eventually(async () => expect(await open(op)).toBe(1));
  // With a fast reader, the other node would have reached the end before.
  await untilRendered(nodes.holder.metrics);
  expect(await open(op)).toBe(1);
  let byteCount = 0;
  for await (const piece of stream) byteCount += (piece as Buffer).length;
  expect(byteCount).toBeGreaterThan(IDS.length * 20 * LARGE.length);
  await eventually(async () => expect(await open(op)).toBe(0));
  await eventually(async () => expect(await held(nodes.other.metrics)).toEqual([0, 0]));
});

function held(metrics: string): Promise<readonly number[]> {
  return Promise.all(['unsent', 'request'].map((what) => seriesAt(metrics, `cairn_${what}_memory_bytes`)));
}

function open(op: string): Promise<number> {
  return seriesAt(nodes.holder.metrics, `cairn_streams_open{op="${op}"}`);
}
