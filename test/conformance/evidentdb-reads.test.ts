// Goal: who reads and follows a database sees what users of EvidentDB know, where the two do not differ on purpose.
// Method: its cases that are of one interface alone: the log, subscribers and waiting over gRPC; single events by URL
// over HTTP; and every read of each after a deletion. What both interfaces share is in evidentdb.test.ts.
import type { ClientReadableStream } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SubscribeEventsReply } from '../../proto/gen/cairn/v1/database.ts';
import { Direction, type Position } from '../../proto/gen/cairn/v1/event.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { FIRST, newDatabase, SECOND, THIRD } from '../support/evidentdb.ts';
import { iterate } from '../support/grpc-client.ts';
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
