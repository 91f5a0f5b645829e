// Goal: who reads and follows a database sees what users of EvidentDB know, where the two do not differ on purpose.
// Method: its cases that are of one interface alone: the log, subscribers and waiting over gRPC; single events by URL
// over HTTP; and every read of each after a deletion. What both interfaces share is in evidentdb.test.ts.
import type { ClientReadableStream } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SubscribeEventsReply } from '../../src/transport/grpc/gen/cairn/v1/database.ts';
import { Direction, type Position } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { FIRST, newDatabase, SECOND, THIRD, threeEvents } from '../support/evidentdb.ts';
import { failureOf, iterate } from '../support/grpc-client.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let api: GrpcApi;
beforeAll(async () => {
  server = await startTestServer();
  api = new GrpcApi(server.grpc);
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const ID = 'my-stream/1an%2Bid%40foo.com';
const TRANSACTION = '0192f0c1-2345-7890-abcd-0123456789ab';
const LOG = { startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };

type Place = readonly [revision: number, index: number];
const placeOf = ({ revision, index }: Position): Place => [revision, index];

function subscribe(databaseName: string, after?: Position): ClientReadableStream<SubscribeEventsReply> {
  return server.client.open('subscribeEvents', { databaseName, eventSelection: undefined, after, heartbeatMs: 100 });
}

/** Where the events are that a subscriber gets first, as many as it wants; then it leaves. */
async function firstPlaces(
  stream: ClientReadableStream<SubscribeEventsReply>,
  count: number,
): Promise<readonly Place[]> {
  const places: Place[] = [];
  for await (const { message } of iterate(stream)) {
    if (message?.$case === 'event') places.push(placeOf(message.value));
    if (places.length === count) break;
  }
  stream.cancel();
  return places;
}

/** Reads until the server ends the stream. */
async function toEnd(stream: ClientReadableStream<SubscribeEventsReply>): Promise<number> {
  const replies: SubscribeEventsReply[] = [];
  for await (const reply of iterate(stream)) replies.push(reply);
  return replies.length;
}

it('a log that begins inside a batch goes on with what is left of it', async () => {
  const databaseName = await newDatabase(api);
  await api.transact(databaseName, { events: [FIRST, SECOND, THIRD] });
  await api.transact(databaseName, { events: [{ ...SECOND, id: 'next' }] });
  const rest = [
    [1, 1],
    [1, 2],
    [2, 0],
  ];
  const after = { revision: 1, index: 0 };
  expect(await firstPlaces(subscribe(databaseName, after), 3)).toEqual(rest);
  const query = {
    eventSelection: undefined,
    revisionRange: undefined,
    effectiveTimeRange: undefined,
    direction: Direction.DIRECTION_FORWARD,
    limit: 0,
    after,
  };
  const { messages } = await server.client.collect('queryEvents', { databaseName, query, atRevision: undefined });
  expect(messages.map(placeOf)).toEqual(rest);
  const begun = await fetchJson(`/databases/${databaseName}/events?limit=1`);
  const cursor = String(begun.body['next_cursor']);
  const { items } = await fetchJson(`/databases/${databaseName}/events?after=${cursor}`);
  expect(items.map(({ revision, index }) => [revision, index])).toEqual(rest);
  // Revisions are of transactions: a log from one begins with all of it, also backwards.
  const whole = await server.client.collect('scanDatabaseLog', { ...LOG, databaseName, startRevision: 1 });
  expect(whole.messages.map(placeOf)).toEqual([[1, 0], ...rest]);
  const backwards = { ...LOG, databaseName, startRevision: 1, direction: Direction.DIRECTION_REVERSE };
  expect((await server.client.collect('scanDatabaseLog', backwards)).messages.map(placeOf)).toEqual([
    [1, 2],
    [1, 1],
    [1, 0],
  ]);
});

it('every read over gRPC of a database that was deleted is NOT_FOUND', async () => {
  const databaseName = await threeEvents(api);
  await api.deleteDatabase(databaseName);
  const { client } = server;
  const query = { databaseName, query: undefined, atRevision: undefined };
  const log = { ...LOG, databaseName };
  const reads = {
    fetchLatestDatabase: client.send('fetchLatestDatabase', { databaseName }),
    fetchDatabaseAtRevision: client.send('fetchDatabaseAtRevision', { databaseName, revision: 1 }),
    databaseEffectiveAtTimestamp: client.send('databaseEffectiveAtTimestamp', {
      databaseName,
      atTimestamp: { seconds: 4_000_000_000, nanos: 0 },
    }),
    awaitDatabase: client.send('awaitDatabase', { databaseName, atRevision: 1 }),
    fetchTransaction: client.send('fetchTransaction', { databaseName, transactionId: TRANSACTION }),
    queryEvents: client.collect('queryEvents', query),
    queryEventBatches: client.collect('queryEventBatches', query),
    scanDatabaseLog: client.collect('scanDatabaseLog', log),
    scanLogBatches: client.collect('scanLogBatches', log),
    subscribeEvents: toEnd(subscribe(databaseName)),
  };
  const names = Object.keys(reads);
  const failures = await Promise.all(Object.values<Promise<unknown>>(reads).map(failureOf));
  expect(failures.map(({ code }, i) => [names[i], code])).toEqual(names.map((name) => [name, 'NOT_FOUND']));
});

it('every read over HTTP of a database that was deleted is 404', async () => {
  const database = await threeEvents(api);
  await api.deleteDatabase(database);
  const listings = ['/streams', '/subjects', '/event-types'];
  const atRevision = [
    '',
    '/events',
    '/events/1',
    `/events/${ID}`,
    '/streams/my-stream',
    '/subjects/x',
    '/event-types/type1',
  ];
  const paths = [
    ...['latest', 'cached'].flatMap((word) => ['', ...listings].map((below) => `/db/${database}/${word}${below}`)),
    ...[...atRevision, ...listings].map((below) => `/db/${database}/1${below}`),
    ...['', '/events', '/events/1'].map((below) => `/databases/${database}${below}`),
    `/api/v1/db/${database}/transaction/${TRANSACTION}`,
  ];
  const answers = await Promise.all(paths.map(fetchJson));
  expect(answers.map(({ status, reason }, i) => [paths[i], status, reason])).toEqual(
    paths.map((path) => [path, 404, 'DatabaseNotFound']),
  );
});

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly reason: string | undefined;
}

async function fetchJson(path: string): Promise<Answer> {
  const response = await fetch(`${server.http}${path}`, { redirect: 'manual' });
  const body: Answer['body'] & {
    readonly events?: Answer['items'];
    readonly error?: { readonly details: { readonly reason: string } };
  } = JSON.parse(await response.text());
  return { status: response.status, body, items: body.events ?? [], reason: body.error?.details.reason };
}
