// Goal: what a client is told when the nodes that are asked for it fail, in every way, over either protocol (TM5,
// TM6, TM8). Method: a server of ours before nodes that fail as they are told, and one that answers.
import { describe, expect, it, onTestFinished } from 'vitest';
import { DatabaseError, toDatabaseId, toGroupId } from '#base';
import { silentLogger } from '#observability';
import type { Holder, Service } from '#service';
import { createByteBudgets, Relay, startGrpcServer, startHttpServer } from '#transport';
import { SubscribeEventsReply } from '../../../src/transport/grpc/gen/cairn/v1/database.ts';
import { frame } from '../../../src/transport/grpc/wire/framing.ts';
import { errorReply } from '../../../src/transport/http/errors.ts';
import { errorPage } from '../../../src/transport/http/rendering/error-page.ts';
import { renderingFor } from '../../../src/transport/http/rendering/renderings.ts';
import { textBody } from '../../../src/transport/http/rendering/reply-body.ts';
import { eventually } from '../../support/eventually.ts';
import {
  BREAKS,
  breaksAfter,
  cutsOff,
  type Failing,
  type FailingHolder,
  failingHolder,
  HANGS,
  REFUSES,
  refusesWith,
  stoppingHolder,
} from '../../support/failing-holders.ts';
import { failureOf, GrpcFailure, iterate, TestClient } from '../../support/grpc-client.ts';
import { event, transaction } from '../../support/grpc-requests.ts';
import { cloudEvent, HttpClient, jsonOf } from '../../support/http-client.ts';
import { startHttpWorld } from '../../support/http-world.ts';

const databaseName = 'shop';
const ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';
const MUCH = 2 ** 30;
const DRAINS = new DatabaseError('unavailable', 'It drains', { details: { reason: 'Draining' } });
const FULL = new DatabaseError('storage_full', 'The disk is full', { details: { reason: 'DiskFull' } });
const ANYWHERE = { host: '127.0.0.1', port: 0 };

interface Front {
  readonly client: TestClient;
  readonly api: HttpClient;
  /** What is counted, such as `grpc lost`. */
  readonly counted: () => Promise<readonly string[]>;
}

/** A node that holds nothing, and knows these holders. */
async function frontOf(...holders: readonly Holder[]): Promise<Front> {
  const world = await startHttpWorld();
  const absent = (): Promise<never> => Promise.reject(new DatabaseError('not_leader', 'It is elsewhere'));
  const service: Service = {
    ...world.service,
    databaseAt: absent,
    transact: absent,
    subscribe: absent,
    elsewhere: (failure) =>
      failure instanceof DatabaseError && failure.code === 'not_leader'
        ? {
            group: toGroupId(holders.length),
            databaseId: toDatabaseId('0193a1b2-c3d4-7e5f-8a9b-100000000000'),
            holders,
          }
        : undefined,
  };
  const { metrics } = world;
  const relay = new Relay({ service, name: 'front', metrics, logger: silentLogger });
  const budgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH });
  const shared = { ...ANYWHERE, service, metrics, logger: silentLogger, budgets, relay, onFatal: () => undefined };
  const grpc = await startGrpcServer(shared);
  const http = await startHttpServer({ ...shared, clock: { nowMs: () => 0 }, allowedOrigins: '*' });
  const client = new TestClient(grpc.address);
  onTestFinished(async () => {
    await client[Symbol.asyncDispose]();
    await Promise.all([grpc.drain(0), http.close(0), world[Symbol.asyncDispose]()]);
  });
  const counted = async (): Promise<readonly string[]> => {
    const { body } = await metrics.render();
    const series = /^cairn_relayed_requests_total\{protocol="(\w+)",result="(\w+)"\} 1$/gm;
    return [...body.matchAll(series)].map(([, protocol, result]) => `${protocol} ${result}`);
  };
  return { client, api: new HttpClient(http.address), counted };
}

/** A whole node, which has the database. */
async function answeringHolder(): Promise<Holder> {
  const world = await startHttpWorld();
  await world.client.create(databaseName);
  const { service, metrics } = world;
  const budgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH });
  const shared = { ...ANYWHERE, service, metrics, logger: silentLogger, budgets, onFatal: () => undefined };
  const grpc = await startGrpcServer(shared);
  onTestFinished(async () => {
    await grpc.drain(0);
    await world[Symbol.asyncDispose]();
  });
  const place = await failingHolder({ kind: 'dead' });
  return { ...place, grpc: grpc.address, http: world.server.address };
}

interface Asked {
  readonly name: string;
  /** `answered`, or the reason of the error. */
  readonly ask: (front: Front) => Promise<string | undefined>;
}

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

const READS: readonly Asked[] = [
  { name: 'a read over gRPC', ask: ({ client }) => overGrpc(client.call('fetchLatestDatabase', { databaseName })) },
  { name: 'a read over HTTP', ask: ({ api }) => overHttp(api, 'GET', '/databases/shop') },
];
const events = [cloudEvent('a')];
const WRITE_OVER_GRPC: Asked = {
  name: 'a write over gRPC',
  ask: ({ client }) => overGrpc(client.call('transact', transaction(databaseName, [event()]))),
};
const WRITES: readonly Asked[] = [
  WRITE_OVER_GRPC,
  { name: 'a write over HTTP', ask: ({ api }) => overHttp(api, 'POST', '/databases/shop/events', { events }) },
];
const WRITE_WITH_ID_OVER_GRPC: Asked = {
  name: 'a write with an id over gRPC',
  ask: ({ client }) => overGrpc(client.call('transact', transaction(databaseName, [event()], { transactionId: ID }))),
};
const WRITES_WITH_ID: readonly Asked[] = [
  WRITE_WITH_ID_OVER_GRPC,
  {
    name: 'a write with an id over HTTP',
    ask: ({ api }) => overHttp(api, 'POST', '/databases/shop/events', { transaction_id: ID, events }),
  },
];
const ALL = [...READS, ...WRITES, ...WRITES_WITH_ID];

describe.each<readonly [string, Failing, readonly Asked[]]>([
  ['is dead', { kind: 'dead' }, ALL],
  ['accepts connections, and says nothing', { kind: 'silent' }, ALL],
  ['refuses before it has tried', REFUSES, ALL],
  ['drains', refusesWith(DRAINS), ALL],
])('a holder that %s', (_what, failing, asks) => {
  it.each(asks.map((asked) => [asked.name, asked] as const))('is passed over by %s', async (_name, { ask }) => {
    const front = await frontOf(await failingHolder(failing), await answeringHolder());
    expect(await ask(front)).toBe('answered');
  });

  it('is told of when there is no other', async () => {
    const front = await frontOf(await failingHolder(failing));
    const answers = await Promise.all(asks.map(({ ask }) => ask(front)));
    expect(new Set(answers)).toEqual(new Set(['NoHolderReached']));
  });

  it('is counted once, whoever answers in the end', async () => {
    const [read] = READS;
    const front = await frontOf(await failingHolder(failing), await answeringHolder());
    expect(await read?.ask(front)).toBe('answered');
    await eventually(async () => expect(await front.counted()).toEqual(['grpc answered']));
  });
});

describe('a holder that breaks before it has answered', () => {
  it.each([...READS, ...WRITES_WITH_ID].map((asked) => [asked.name, asked] as const))(
    'is passed over by %s',
    async (_name, { ask }) => {
      const front = await frontOf(await failingHolder(BREAKS), await answeringHolder());
      expect(await ask(front)).toBe('answered');
    },
  );

  it.each(WRITES.map((asked) => [asked.name, asked] as const))(
    'leaves the outcome of %s unknown, which is not sent again',
    async (_name, { ask }) => {
      const [first, second] = [await failingHolder(BREAKS), await failingHolder(BREAKS)];
      expect(await ask(await frontOf(first, second))).toBe('OutcomeUnknown');
      expect([first.asked.length, second.asked.length]).toEqual([1, 0]);
    },
  );
});

describe('a holder with a full disk', () => {
  const full = (): Promise<FailingHolder> => failingHolder(refusesWith(FULL));
  const cases = WRITES_WITH_ID.map((asked) => [asked.name, asked] as const);

  it.each(cases)('is the one to answer %s', async (_name, { ask }) => {
    expect(await ask(await frontOf(await full()))).toBe('DiskFull');
  });

  it.each(cases)('does not say what became of %s that another one has lost (TM8)', async (_name, { ask }) => {
    const [lost, refused] = [await failingHolder(BREAKS), await full()];
    const front = await frontOf(lost, refused);
    expect(await ask(front)).toBe('OutcomeUnknown');
    expect([lost.asked.length, refused.asked.length]).toEqual([1, 1]);
    await eventually(async () => expect(await front.counted()).toContainEqual(expect.stringContaining(' lost')));
  });
});

describe.each(['call', 'connection'] as const)('a holder that cuts the %s off', (what) => {
  it('leaves the outcome of a write unknown, which it may have committed (TM8)', async () => {
    const [cut, other] = [await failingHolder(cutsOff(what)), await answeringHolder()];
    expect(await WRITE_OVER_GRPC.ask(await frontOf(cut, other))).toBe('OutcomeUnknown');
    expect(cut.asked).toHaveLength(1);
  });

  it('is passed over by a write with an id', async () => {
    const front = await frontOf(await failingHolder(cutsOff(what)), await answeringHolder());
    expect(await WRITE_WITH_ID_OVER_GRPC.ask(front)).toBe('answered');
  });

  it('is the answer of a read', async () => {
    const { client } = await frontOf(await failingHolder(cutsOff(what)), await answeringHolder());
    const failure = await failureOf(client.call('fetchLatestDatabase', { databaseName }));
    expect(failure).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
});

describe('a holder that breaks in the middle of its answer', () => {
  const item = { message: { $case: 'heartbeat', value: { position: undefined, revision: 7 } } } as const;
  const message = frame(SubscribeEventsReply.encode(item).finish());

  it('leaves a stream with what has come, and a status', async () => {
    const front = await frontOf(await failingHolder(breaksAfter(message)), await answeringHolder());
    const { client } = front;
    const stream = iterate(
      client.open('subscribeEvents', { databaseName, eventSelection: undefined, after: undefined, heartbeatMs: 1000 }),
    );
    expect((await stream.next()).value).toMatchObject({ message: { value: { revision: 7 } } });
    const failure = await failureOf(stream.next());
    expect(failure).toMatchObject({ code: 'UNAVAILABLE', info: { metadata: { reason: 'RelayBroken' } } });
    await eventually(async () => expect(await front.counted()).toEqual(['grpc broken']));
  });

  it('leaves an answer over HTTP that is seen not to be whole', async () => {
    const { api, counted } = await frontOf(await failingHolder(breaksAfter(message)), await answeringHolder());
    await expect(api.get('/databases/shop')).rejects.toThrow('terminated');
    await eventually(async () => expect(await counted()).toEqual(['http broken']));
  });
});

describe('a holder that stops after it has answered', () => {
  /** To find that out: far less than the half minute after which nobody's answer is awaited any more. */
  const SOON_MS = 6_000;
  /** What was heard before that is no sign of life. */
  const LATELY_MS = 1_000;

  async function stopped(): Promise<Front> {
    const stopping = await stoppingHolder(await answeringHolder());
    const front = await frontOf(stopping, await answeringHolder());
    for (const read of READS) expect(await read.ask(front)).toBe('answered');
    stopping.stop();
    return front;
  }

  async function askAll(front: Front): Promise<readonly (readonly [string, string | undefined])[]> {
    const askedMs = performance.now();
    const answers = await Promise.all(ALL.map(async ({ name, ask }) => [name, await ask(front)] as const));
    expect(performance.now() - askedMs).toBeLessThan(SOON_MS);
    return answers;
  }

  it('is passed over when it was not heard of lately', async () => {
    const front = await stopped();
    const heardMs = performance.now();
    await eventually(() => expect(performance.now() - heardMs).toBeGreaterThan(LATELY_MS));
    expect(await askAll(front)).toEqual(ALL.map(({ name }) => [name, 'answered']));
  });

  it('is given up by whoever has asked it, and asked after all others from then on', async () => {
    const front = await stopped();
    const isUnknown = (asked: Asked): boolean => WRITES.includes(asked);
    const expected = ALL.map((asked) => [asked.name, isUnknown(asked) ? 'OutcomeUnknown' : 'answered']);
    expect(await askAll(front)).toEqual(expected);
    const againMs = performance.now();
    for (const read of READS) expect(await read.ask(front)).toBe('answered');
    expect(performance.now() - againMs).toBeLessThan(1_000);
  });
});

describe('a client that leaves', () => {
  const asked = async (holder: FailingHolder): Promise<void> => {
    await eventually(() => expect(holder.asked).toHaveLength(1));
  };

  it('ends what was asked for it over gRPC', async () => {
    const holder = await failingHolder(HANGS);
    const { client, counted } = await frontOf(holder);
    const stream = client.open('subscribeEvents', {
      databaseName,
      eventSelection: undefined,
      after: undefined,
      heartbeatMs: 1000,
    });
    stream.on('error', () => undefined);
    await asked(holder);
    stream.cancel();
    await eventually(() => expect(holder.ended).toEqual([8]));
    await eventually(async () => expect(await counted()).toEqual(['grpc abandoned']));
  });

  it('ends what was asked for it over HTTP', async () => {
    const holder = await failingHolder(HANGS);
    const { api, counted } = await frontOf(holder);
    const leave = new AbortController();
    const told = api.send('/databases/shop', { signal: leave.signal }).catch(() => 'left');
    await asked(holder);
    leave.abort();
    expect(await told).toBe('left');
    await eventually(() => expect(holder.ended).toEqual(['aborted']));
    await eventually(async () => expect(await counted()).toEqual(['http abandoned']));
  });
});

it('says in TOON, too, that it has not tried, and another node is asked', async () => {
  const page = renderingFor('text/plain')?.renderNow(
    textBody(errorReply(DRAINS).body ?? ''),
    errorPage(DRAINS, { target: '/databases/shop' }),
  );
  const drains = await failingHolder({
    kind: 'answering',
    call: () => undefined,
    request: (_request, response) => void response.writeHead(503, { 'content-type': 'text/plain' }).end(page),
  });
  const { api } = await frontOf(drains, await answeringHolder());
  const answer = await api.get('/databases/shop', { accept: 'text/plain' });
  expect([answer.status, answer.text.split('\n', 1)]).toEqual([200, [expect.stringContaining('The database shop')]]);
  expect(drains.asked).toHaveLength(1);
});
