// Goal: requests are answered correctly when nodes with a replica fail in various ways, over both protocols (TM5, TM6,
// TM8). Method: a node without a replica, and nodes that fail as scripted.
import { describe, expect, it, onTestFinished } from 'vitest';
import { DatabaseError, toDatabaseId, toGroupId } from '#base';
import { silentLogger } from '#observability';
import type { Holder, Service } from '#service';
import { createByteBudgets, Relay, startGrpcServer, startHttpServer } from '#transport';
import { SubscribeEventsReply } from '../../../proto/gen/cairn/v1/database.ts';
import { frame } from '../../../src/transport/grpc/wire/framing.ts';
import { eventually } from '../../support/eventually.ts';
import {
  BREAKS,
  breaksAfter,
  cutsOff,
  type Failing,
  failingHolder,
  HANGS,
  REFUSES,
  refusesWith,
  stoppingHolder,
} from '../../support/failing-holders.ts';
import { failureOf, GrpcFailure, iterate, TestClient } from '../../support/grpc-client.ts';
import { event, transaction } from '../../support/grpc-requests.ts';
import { cloudEvent, HttpClient, jsonOf } from '../../support/http-client.ts';
import { NO_PROBES, startHttpWorld } from '../../support/http-world.ts';

const databaseName = 'shop';
const ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
const MUCH = 2 ** 30;
const DRAINS = new DatabaseError('unavailable', 'It drains', { details: { reason: 'Draining' } });
const SUBSCRIPTION = { databaseName, eventSelection: undefined, after: undefined, heartbeatMs: 1000 };

interface Front {
  readonly client: TestClient;
  readonly api: HttpClient;
  /** Counts of relayed requests, such as `1 grpc lost`. */
  readonly counted: () => Promise<readonly string[]>;
}

type World = Awaited<ReturnType<typeof startHttpWorld>>;

function shared({ service, metrics }: World) {
  const budgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH });
  return { host: '127.0.0.1', port: 0, logger: silentLogger, onFatal: () => undefined, service, metrics, budgets };
}

/** Starts a node without a replica that knows the given nodes with one. */
async function frontOf(...holders: readonly Holder[]): Promise<Front> {
  const world = await startHttpWorld();
  const absent = (): Promise<never> => Promise.reject(new DatabaseError('not_leader', 'It is elsewhere'));
  const where = { group: toGroupId(holders.length), databaseId: toDatabaseId(ID), holders };
  const service: Service = {
    ...world.service,
    databaseAt: absent,
    transact: absent,
    subscribe: absent,
    elsewhere: (failure) => (failure instanceof DatabaseError && failure.code === 'not_leader' ? where : undefined),
  };
  const { metrics } = world;
  const relay = new Relay({ service, name: 'front', metrics, logger: silentLogger });
  const options = { ...shared(world), service, relay };
  const grpc = await startGrpcServer(options);
  const http = await startHttpServer({ ...options, clock: { nowMs: () => 0 }, allowedOrigins: '*', probes: NO_PROBES });
  const client = new TestClient(grpc.address);
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    await Promise.all([grpc.drain(0), http.close(0), world[Symbol.asyncDispose]()]);
  });
  const counted = async (): Promise<readonly string[]> => {
    const { body } = await metrics.render();
    const series = /^cairn_relayed_requests_total\{protocol="(\w+)",result="(\w+)"\} ([1-9]\d*)$/gm;
    return [...body.matchAll(series)].map(([, protocol, result, count]) => `${count} ${protocol} ${result}`);
  };
  return { client, api: new HttpClient(http.address), counted };
}

async function answeringHolder(): Promise<Holder> {
  const world = await startHttpWorld();
  await world.client.create(databaseName);
  const grpc = await startGrpcServer(shared(world));
  onTestFinished(async () => {
    await grpc.drain(0);
    await world[Symbol.asyncDispose]();
  });
  const place = await failingHolder({ kind: 'dead' });
  return { ...place, grpc: grpc.address, http: world.server.address };
}

/** Returns `answered`, or the reason of the error. */
type Ask = (front: Front) => Promise<string | undefined>;

function overGrpc(call: Promise<unknown>): Promise<string | undefined> {
  return call.then(
    () => 'answered',
    (failure: unknown) => (failure instanceof GrpcFailure ? failure.info?.metadata['reason'] : String(failure)),
  );
}

async function overHttp(api: HttpClient, method: string, path: string, body?: object): Promise<string | undefined> {
  const answer = await api.send(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  if (answer.status === 200) return 'answered';
  return (jsonOf(answer) as { error: { details: { reason: string } } }).error.details.reason;
}

const write = (options?: object): Ask => {
  return ({ client }) => overGrpc(client.call('transact', transaction(databaseName, [event()], options)));
};
const post = (more: object = {}): Ask => {
  return ({ api }) => overHttp(api, 'POST', '/databases/shop/events', { events: [cloudEvent('a')], ...more });
};
const ASKS = {
  'a read over gRPC': ({ client }) => overGrpc(client.call('fetchLatestDatabase', { databaseName })),
  'a read over HTTP': ({ api }) => overHttp(api, 'GET', '/databases/shop'),
  'a write over gRPC': write(),
  'a write over HTTP': post(),
  'a write with an id over gRPC': write({ transactionId: ID }),
  'a write with an id over HTTP': post({ transaction_id: ID }),
} as const satisfies Readonly<Record<string, Ask>>;

type Name = keyof typeof ASKS;

const READS: readonly Name[] = ['a read over gRPC', 'a read over HTTP'];
const WRITES: readonly Name[] = ['a write over gRPC', 'a write over HTTP'];
const WITH_ID: readonly Name[] = ['a write with an id over gRPC', 'a write with an id over HTTP'];
const ALL = [...READS, ...WRITES, ...WITH_ID];

async function answersTo(names: readonly Name[], front: Front): Promise<Record<string, string | undefined>> {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await ASKS[name](front)] as const)));
}

function expected(names: readonly Name[], answer: string, others: Partial<Record<Name, string>> = {}): object {
  return { ...Object.fromEntries(names.map((name) => [name, answer])), ...others };
}

const UNKNOWN = Object.fromEntries(WRITES.map((name) => [name, 'OutcomeUnknown']));

it.each<readonly [string, Failing]>([
  ['is dead', { kind: 'dead' }],
  ['accepts connections, and sends nothing', { kind: 'silent' }],
  ['refuses before it has tried', REFUSES],
  ['drains', refusesWith(DRAINS)],
])('a node that %s is skipped and counted once, and reported when there is no other', async (_, how) => {
  const front = await frontOf(await failingHolder(how), await answeringHolder());
  expect(await answersTo(ALL, front)).toEqual(expected(ALL, 'answered'));
  await eventually(async () => expect(await front.counted()).toEqual(['3 grpc answered', '3 http answered']));
  const alone = await frontOf(await failingHolder(how));
  expect(await answersTo(ALL, alone)).toEqual(expected(ALL, 'NoHolderReached'));
});

it.each(WRITES)(
  'a node that breaks before its answer leaves the outcome of %s unknown, and the request is not repeated',
  async (name) => {
    const [first, second] = [await failingHolder(BREAKS), await failingHolder(BREAKS)];
    expect(await ASKS[name](await frontOf(first, second))).toBe('OutcomeUnknown');
    expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
  },
);

it.each(['call', 'connection'] as const)(
  'a node that cuts the %s off may have committed a write (TM8)',
  async (what) => {
    const asked = async (name: Name): Promise<readonly unknown[]> => {
      const cut = await failingHolder(cutsOff(what));
      const answer = await ASKS[name](await frontOf(cut, await answeringHolder()));
      return [answer, cut.asked.length];
    };
    expect(await asked('a write over gRPC')).toEqual(['OutcomeUnknown', 1]);
    expect(await asked('a write with an id over gRPC')).toEqual(['answered', 1]);
    const { client } = await frontOf(await failingHolder(cutsOff(what)), await answeringHolder());
    const failure = await failureOf(client.call('fetchLatestDatabase', { databaseName }));
    expect(failure).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  },
);

it('a node that breaks during its answer leaves an incomplete answer that is marked as such', async () => {
  const item = { message: { $case: 'heartbeat', value: { position: undefined, revision: 7 } } } as const;
  const breaking = await failingHolder(breaksAfter(frame(SubscribeEventsReply.encode(item).finish())));
  const { client, api, counted } = await frontOf(breaking, await answeringHolder());
  const stream = iterate(client.open('subscribeEvents', SUBSCRIPTION));
  expect((await stream.next()).value).toMatchObject({ message: { value: { revision: 7 } } });
  const failure = await failureOf(stream.next());
  expect(failure).toMatchObject({ code: 'UNAVAILABLE', info: { metadata: { reason: 'RelayBroken' } } });
  await expect(api.get('/databases/shop')).rejects.toThrow('terminated');
  await eventually(async () => expect(await counted()).toEqual(['1 grpc broken', '1 http broken']));
});

describe('a node that stops after it has answered', () => {
  /** Less than the half minute after which a request gives up. */
  const SOON_MS = 25_000;
  const LATELY_MS = 1_000;

  it.each([
    ['is skipped when nothing was received from it lately', LATELY_MS, {}],
    ['fails the requests that wait for it, and is asked last from then on', 0, UNKNOWN],
  ])('%s', async (_, pauseMs, others) => {
    const stopping = await stoppingHolder(await answeringHolder());
    const front = await frontOf(stopping, await answeringHolder());
    expect(await answersTo(READS, front)).toEqual(expected(READS, 'answered'));
    stopping.stop();
    const stoppedMs = performance.now();
    await eventually(() => expect(performance.now() - stoppedMs).toBeGreaterThan(pauseMs));
    const askedMs = performance.now();
    expect(await answersTo(ALL, front)).toEqual(expected(ALL, 'answered', others));
    expect(performance.now() - askedMs).toBeLessThan(SOON_MS);
    const received = stopping.received();
    expect(await answersTo(READS, front)).toEqual(expected(READS, 'answered'));
    expect(stopping.received()).toBe(received);
  });
});

it('a client that leaves ends its relayed request', async () => {
  const holder = await failingHolder(HANGS);
  const { client, api, counted } = await frontOf(holder);
  const stream = client.open('subscribeEvents', SUBSCRIPTION);
  stream.on('error', () => undefined);
  await eventually(() => expect(holder.asked).toHaveLength(1));
  stream.cancel();
  await eventually(() => expect(holder.ended).toEqual([8]));
  const leave = new AbortController();
  const told = api.send('/databases/shop', { signal: leave.signal }).catch(() => 'left');
  await eventually(() => expect(holder.asked).toHaveLength(2));
  leave.abort();
  expect(await told).toBe('left');
  await eventually(() => expect(holder.ended).toEqual([8, 'aborted']));
  await eventually(async () => expect(await counted()).toEqual(['1 grpc abandoned', '1 http abandoned']));
});
