/**
 * Translates each call of the simulation's clients (test/simulation/history.ts) into gRPC or HTTP requests to a real
 * node, and the replies back into the values of the history.
 */

import { instantFromMs } from '#base';
import type { Database } from '../../proto/gen/cairn/v1/database.ts';
import type { Event } from '../../proto/gen/cairn/v1/event.ts';
import { TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';
import type { Timestamp } from '../../proto/gen/google/protobuf/timestamp.ts';
import type { CallKind, Calls, EventSeen, ReadRequest, Scope } from '../../test/simulation/history.ts';
import { messagesOf, sketchOf, transactionSeen, transactionsOf } from '../../test/simulation/workload/decode.ts';
import { GrpcFailure } from '../../test/support/grpc-client.ts';
import { constraintMessage, directionMessage, eventMessage, queryMessage } from './encode.ts';
import type { Line } from './line.ts';

type Performers = {
  readonly [Kind in CallKind]: (
    line: Line,
    request: Calls[Kind]['request'],
    deadlineMs: number,
  ) => Promise<Calls[Kind]['value']>;
};

type Headers = Readonly<Record<string, unknown>>;

/** Longest wait for a revision, which may never be reached. */
const AWAIT_MS_MAX = 1000;
const NAMES_MAX = 1000;

const PERFORMERS: Performers = {
  transact: async (line, request, deadlineMs) => {
    const { name, transactionId, constraints, events, minRevision } = request;
    const message = TransactRequest.fromPartial({
      databaseName: name,
      transaction: {
        events: events.map(eventMessage),
        constraints: constraints.map(constraintMessage),
        transactionId,
      },
    });
    const reply = await line.grpc
      .call('transact', message, { ...floor(minRevision), deadlineMs })
      .catch((failure: unknown) => refusalOf(failure));
    if ('kind' in reply) return reply;
    line.hear(reply.trailers);
    const { revision, databaseId, basis, recordedTime, replayed, eventIdMappings } = reply.message;
    const storedIds = eventIdMappings.map(({ storedEventId }) => storedEventId);
    const recordedTimeMs = milliseconds(recordedTime);
    const recorded = { databaseId, revision, basis, recordedTimeMs, replayed, storedIds };
    return { kind: 'recorded', transactionId: reply.message.transactionId, ...recorded };
  },
  create: async (line, { name }, deadlineMs) => {
    const reply = await line.grpc.send('createDatabase', { databaseName: name }, { deadlineMs });
    const { databaseId, revision, createdAt } = described(reply.database);
    return { databaseId, revision, createdAtMs: milliseconds(createdAt) };
  },
  delete: async (line, { name, databaseId }, deadlineMs) => {
    const { headers } = await line.grpc.call('deleteDatabase', { databaseName: name, databaseId }, { deadlineMs });
    return { databaseId: instanceOf(headers) };
  },
  list: async (line, _request, deadlineMs) => {
    const { databases } = await line.grpc.send('fetchCatalog', {}, { deadlineMs });
    return databases.map(({ name, databaseId, revision }) => ({ name, databaseId, revision }));
  },
  describe: async (line, request, deadlineMs) => {
    const { name, at, minRevision } = request;
    const options = { ...floor(minRevision), deadlineMs };
    if (at === 'latest') {
      const { database } = await line.grpc.send('fetchLatestDatabase', { databaseName: name }, options);
      return descriptionOf(described(database));
    }
    const revision = await line.revisionAt(request, deadlineMs);
    const { database } = await line.grpc.send('fetchDatabaseAtRevision', { databaseName: name, revision }, options);
    return descriptionOf(described(database));
  },
  asOf: async (line, { name, timeMs }, deadlineMs) => {
    const request = { databaseName: name, atTimestamp: instantFromMs(timeMs) };
    const { database } = await line.grpc.send('databaseEffectiveAtTimestamp', request, { deadlineMs });
    return descriptionOf(described(database));
  },
  query: async (line, request, deadlineMs) => {
    const { name, at, minRevision, query } = request;
    const atRevision = at === 'latest' ? undefined : await line.revisionAt(request, deadlineMs);
    const message = { databaseName: name, query: queryMessage(query), atRevision };
    const reply = await line.grpc.collect('queryEventBatches', message, { ...floor(minRevision), deadlineMs });
    return { ...scopeOf(reply.headers), events: reply.messages.flatMap(({ events }) => events.map(eventSeen)) };
  },
  fetch: async (line, { name, transactionId }, deadlineMs) => {
    const { bytes, headers } = await line.fetchTransaction({ databaseName: name, transactionId }, deadlineMs);
    const [record] = messagesOf(bytes, 1);
    if (record === undefined) throw new TypeError(`the reply for the transaction ${transactionId} holds none`);
    return { ...scopeOf(headers), transaction: transactionSeen(record) };
  },
  log: async (line, { name, start, direction, limit }, deadlineMs) => {
    const request = { databaseName: name, startRevision: start, direction: directionMessage(direction), limit };
    const { batches, headers } = await line.scanLogBatches(request, deadlineMs);
    return { ...scopeOf(headers), transactions: batches.flatMap(transactionsOf) };
  },
  await: async (line, { name, revision }, deadlineMs) => {
    const request = { databaseName: name, atRevision: revision };
    const options = { deadlineMs: Math.min(deadlineMs, AWAIT_MS_MAX) };
    const { databaseId, revision: reached } = described(
      (await line.grpc.send('awaitDatabase', request, options)).database,
    );
    return { databaseId, revision: reached };
  },
  event: async (line, request, deadlineMs) => {
    const { name, stream, id, minRevision } = request;
    const revision = await line.revisionAt(request, deadlineMs);
    const path = `/db/${name}/${revision}/events/${encodeURIComponent(stream)}/${encodeURIComponent(id)}`;
    const { scope, body } = await line.get(path, minRevision, deadlineMs);
    return { ...scope, event: eventOfJson(body as JsonEvent) };
  },
  names: async (line, request, deadlineMs) => {
    const { name, of, minRevision } = request;
    const revision = await line.revisionAt(request, deadlineMs);
    const segment = of === 'types' ? 'event-types' : of;
    const { scope, body } = await line.get(
      `/db/${name}/${revision}/${segment}?limit=${NAMES_MAX}`,
      minRevision,
      deadlineMs,
    );
    const listed = (body as Readonly<Record<string, readonly JsonName[]>>)[segment.replace('-', '_')] ?? [];
    return { ...scope, names: listed.map((each) => [each.name, each.first_revision]) };
  },
};

/**
 * Sends the call to the node at the other end of the line.
 * @throws GrpcFailure or HttpFailure for an answer with an error, and the transport error when the connection is lost.
 */
export function perform<Kind extends CallKind>(
  kind: Kind,
  line: Line,
  request: Calls[Kind]['request'],
  deadlineMs: number,
): Promise<Calls[Kind]['value']> {
  return PERFORMERS[kind](line, request, deadlineMs);
}

/** An event as gRPC delivers it. */
export function eventSeen(event: Event): EventSeen {
  const { revision, index, recordedTime } = event;
  return { ...sketchOf(event), revision, index, recordedTimeMs: milliseconds(recordedTime) };
}

/** Instance and revision that the reply names. */
export function scopeOf(headers: Headers): Scope {
  return { databaseId: instanceOf(headers) ?? '', revision: Number(headers['x-revision']) };
}

/** Database id that the reply names. */
export function instanceOf(headers: Headers): string | undefined {
  const databaseId = headers['x-database-id'];
  return typeof databaseId === 'string' ? databaseId : undefined;
}

type Refused = Extract<Calls['transact']['value'], { readonly kind: 'refused' }>;

/** Returns the violations of constraints: such a transaction was evaluated, so the failure is an answer. */
function refusalOf(failure: unknown): Refused {
  if (!(failure instanceof GrpcFailure) || failure.code !== 'FAILED_PRECONDITION') throw failure;
  const violations = failure.violations.map(({ subject, description }) => ({
    index: Number(/\[(\d+)\]$/.exec(subject)?.[1]),
    found: Number(/ at revision (\d+)$/.exec(description)?.[1]),
  }));
  return { kind: 'refused', ...scopeOf(failure.trailers), violations };
}

function floor(minRevision: ReadRequest['minRevision']): { readonly metadata?: Readonly<Record<string, string>> } {
  return minRevision === undefined ? {} : { metadata: { 'x-min-revision': String(minRevision) } };
}

function described(database: Database | undefined): Database {
  if (database === undefined) throw new TypeError('a reply that describes a database is empty');
  return database;
}

function descriptionOf(database: Database): Calls['describe']['value'] {
  const { databaseId, revision, basis, eventCount, latestRevision } = database;
  return {
    databaseId,
    revision,
    createdAtMs: milliseconds(database.createdAt),
    basis,
    revisionTimeMs: milliseconds(database.revisionTimestamp),
    eventCount,
    chainHash: database.chainHash.toString('hex'),
    latestRevision,
  };
}

function milliseconds(time: Timestamp | undefined): number {
  if (time === undefined) throw new TypeError('a reply lacks a time');
  return time.seconds * 1000 + time.nanos / 1_000_000;
}

interface JsonName {
  readonly name: string;
  readonly first_revision: number;
}

interface JsonEvent {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly revision: number;
  readonly index: number;
  readonly recordedtime: string;
  readonly time?: string;
  readonly data_base64?: string;
}

function eventOfJson(event: JsonEvent): EventSeen {
  const { id, source, type, subject, revision, index } = event;
  const data = Buffer.from(event.data_base64 ?? '', 'base64');
  const end = data.indexOf(0);
  const textEnd = end === -1 ? data.length : end;
  return {
    id,
    stream: source.slice(source.lastIndexOf('/') + 1),
    type,
    subject,
    ...(event.time !== undefined && { timeMs: Date.parse(event.time) }),
    text: data.toString('utf8', 0, textEnd),
    zeros: data.length - textEnd,
    revision,
    index,
    recordedTimeMs: Date.parse(event.recordedtime),
  };
}
