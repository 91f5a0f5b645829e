// Goal: events, batches of them and the log are read over gRPC as the specification says, at any revision.
// Method: a real node with one known history; the naive answer beside each question.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ProtoReader, parseUuid } from '#base';
import { type Direction, type Event, EventQuery } from '../../proto/gen/cairn/v1/event.ts';
import { LogBatch } from '../../proto/gen/cairn/v1/transaction.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { RawGrpc } from '../support/raw-grpc.ts';
import { sharedServer } from '../support/shared-servers.ts';

/** Transactions of the history: [stream, type, subject, effective second] of each event. */
const HISTORY: readonly (readonly (readonly [string, string, string | undefined, number])[])[] = [
  [['orders', 'placed', 's-1', 500]],
  [
    ['orders', 'placed', 's-2', 400],
    ['carts', 'filled', undefined, 300],
  ],
  [['orders', 'shipped', 's-1', 200]],
];
const PLACES = ['1.0', '2.0', '2.1', '3.0'];

const server = await sharedServer();
let name: string;
let databaseId: string;

beforeAll(async () => {
  name = uniqueName();
  const { database } = await server.client.send('createDatabase', { databaseName: name });
  databaseId = database?.databaseId ?? '';
  for (const [at, events] of HISTORY.entries()) {
    const sent = events.map(([source, ty, subject, seconds], index) =>
      event({ id: `${at + 1}.${index}`, source, ty, subject, time: { seconds, nanos: index } }),
    );
    await server.client.send('transact', transaction(name, sent));
  }
});

function places(events: readonly Pick<Event, 'revision' | 'index'>[]): readonly string[] {
  return events.map(({ revision, index }) => `${revision}.${index}`);
}

it('SPEC-GRPC-QUERY-EVENTS gives events as they were written, with what the server adds', async () => {
  const { messages, headers } = await server.client.collect('queryEvents', {
    databaseName: name,
    query: EventQuery.fromPartial({ revisionRange: { start: 2, end: 2 } }),
    atRevision: undefined,
  });
  expect(headers).toMatchObject({ 'x-database-id': databaseId, 'x-revision': '3' });
  expect(messages[1]).toMatchObject({
    id: '2.1',
    specVersion: '1.0',
    ty: 'filled',
    source: 'carts',
    subject: undefined,
    time: { seconds: 300, nanos: 1 },
    revision: 2,
    index: 1,
  });
  const recorded = new Set(messages.map(({ recordedTime }) => JSON.stringify(recordedTime)));
  expect(recorded.size).toBe(1);
});

describe('SPEC-GRPC-SCAN-DATABASE-LOG', () => {
  const scan = (startRevision: number, direction: Direction, limit: number) => ({
    databaseName: name,
    startRevision,
    direction,
    limit,
  });

  it('gives events in the order of revisions, each with its revision in an extension', async () => {
    const { messages, headers } = await server.client.collect('scanDatabaseLog', scan(0, 0, 0));
    expect(places(messages)).toEqual(PLACES);
    expect(headers).toMatchObject({ 'x-database-id': databaseId, 'x-revision': '3' });
    for (const { revision, extensions } of messages) {
      expect(extensions['revision']).toEqual({ attr: { $case: 'ceString', value: String(revision) } });
    }
  });

  it('is refused for a direction that does not exist', async () => {
    const failure = await failureOf(server.client.collect('scanDatabaseLog', scan(0, 7 as Direction, 0)));
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', fields: ['direction'] });
  });
});

it('SPEC-GRPC-SCAN-LOG-BATCHES lets a client prove the history by the chain of hashes', async () => {
  const raw = new RawGrpc(server.port);
  const request = Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]);
  const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]);
  const { body, status } = await raw.call({ path: '/cairn.v1.EventStore/ScanLogBatches', pieces: [framed] });
  await raw.close();
  expect(status).toBe(0);
  let hash = sha256(Buffer.from(parseUuid(databaseId) ?? []));
  for (const message of messagesOf(body)) {
    const bodies = bodiesOf(message);
    for (const [at, { chainHash }] of LogBatch.decode(message).transactions.entries()) {
      hash = sha256(hash, bodies[at] ?? Buffer.alloc(0));
      expect(Buffer.from(chainHash)).toEqual(hash);
    }
  }
  const { database } = await server.client.send('fetchLatestDatabase', { databaseName: name });
  expect(database?.chainHash).toEqual(hash);
});

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function messagesOf(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    messages.push(body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1)));
  }
  return messages;
}

/** The bytes of field 15 of every LoggedTransaction, as they came. */
function bodiesOf(logBatch: Uint8Array): readonly Uint8Array[] {
  const bodies: Uint8Array[] = [];
  const batch = new ProtoReader(logBatch);
  while (!batch.done) {
    batch.tag();
    const transactionStart = batch.lengthDelimited();
    const logged = new ProtoReader(logBatch, transactionStart, batch.at);
    while (!logged.done) {
      const tag = logged.tag();
      const start = logged.at;
      logged.skipField(tag);
      if (tag !== 0x7a) continue;
      const inner = new ProtoReader(logBatch, start, logged.at);
      const bodyStart = inner.lengthDelimited();
      bodies.push(logBatch.subarray(bodyStart, inner.at));
    }
  }
  return bodies;
}
