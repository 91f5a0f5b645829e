/** Converts gRPC replies to answers of the model's vocabulary. */
import type { Answer, ReadEvent, Request } from '../model/vocabulary.ts';
import { type EventMessage, type Message, nanosOf, readEvent, type Timestamp } from './grpc-messages.ts';

interface DatabaseMessage {
  readonly name: string;
  readonly database_id: string;
  readonly revision?: string;
  readonly basis?: string;
  readonly created_at?: Timestamp;
  readonly revision_timestamp?: Timestamp;
  readonly event_count?: string;
  readonly chain_hash?: Buffer;
}

export function answerOf(request: Request, messages: readonly Message[]): Answer {
  const [first = {}] = messages;
  switch (request.kind) {
    case 'create':
    case 'database':
      return databaseAnswer(first['database'] as DatabaseMessage);
    case 'transact':
      return transactAnswer(first);
    case 'lookup':
      return lookupAnswer(first);
    case 'catalog':
      return { names: ((first['databases'] ?? []) as DatabaseMessage[]).map(({ name }) => name) };
    case 'query':
      return {
        events: (request.via === 'QueryEvents' ? messages : messages.flatMap(({ events }) => events)).map((each) =>
          readEvent(each as EventMessage),
        ),
      };
    case 'scan':
      return {
        events:
          request.via === 'ScanDatabaseLog'
            ? messages.map(scanned)
            : messages.flatMap(({ transactions }) => transactions as Message[]).flatMap(loggedEvents),
      };
    case 'subscribe':
      return {
        events: messages.flatMap(({ event }) => (event === undefined ? [] : [readEvent(event as EventMessage)])),
      };
    case 'delete':
    case 'event':
    case 'malformed':
    case 'names':
    case 'next':
    case 'publish':
      return {};
  }
}

function databaseAnswer(database: DatabaseMessage): Answer {
  const {
    name,
    database_id: databaseId,
    revision = '0',
    basis = '0',
    event_count: events = '0',
    chain_hash: hash,
  } = database;
  const members = {
    name,
    revision: Number(revision),
    basis: Number(basis),
    created: nanosOf(database.created_at),
    timestamp: nanosOf(database.revision_timestamp),
    events: Number(events),
    ...(revision === '0' ? {} : { hash: hash?.toString('hex') ?? '' }),
  };
  return { databaseId, members };
}

function transactAnswer(reply: Message): Answer {
  const { transaction_id: id, recorded_time: recorded, event_count: events = 0, basis = '0', replayed = false } = reply;
  const members = {
    id: String(id),
    events: Number(events),
    basis: Number(basis),
    replayed: replayed === true,
    recorded: nanosOf(recorded as DatabaseMessage['created_at']),
  };
  return {
    databaseId: String(reply['database_id']),
    revision: Number(reply['revision']),
    members,
    mappings: mappingsOf(reply),
  };
}

function mappingsOf({ event_id_mappings: mappings = [] }: Message): readonly string[] {
  return (mappings as Record<string, string>[]).map(
    (each) => `${each['client_event_id']} > ${each['stored_event_id']}`,
  );
}

/** Scans add the key `revision`. */
function scanned(message: Message): ReadEvent {
  const event = readEvent(message as unknown as EventMessage);
  const { revision, ...extensions } = event.extensions;
  if (revision !== String(event.revision))
    throw new Error(`a scanned event says revision ${revision} and ${event.revision}`);
  return { ...event, extensions };
}

interface Body {
  readonly recorded_time_ms: string;
  readonly transaction_id: Buffer;
  readonly origin: string;
  readonly events?: readonly EventMessage[];
}

/** Events of a stored transaction: the ids that were sent, with the stored ids that differ. */
function loggedEvents(logged: Message): readonly ReadEvent[] {
  const body = logged['body'] as Body;
  const stored = (logged['stored_ids'] ?? []) as readonly { readonly index?: number; readonly id: string }[];
  const recorded = String(BigInt(body.recorded_time_ms) * 1_000_000n);
  return (body.events ?? []).map((event, index) => ({
    ...readEvent({ ...event, index, revision: String(logged['revision']) }),
    id: stored.find((each) => (each.index ?? 0) === index)?.id ?? event.id,
    recorded,
  }));
}

const ORIGINS: Readonly<Record<string, string>> = {
  TRANSACTION_ORIGIN_HTTP_TRANSACTION: 'HttpTransaction',
  TRANSACTION_ORIGIN_HTTP_STATE_CHANGE: 'HttpStateChange',
  TRANSACTION_ORIGIN_GRPC_TRANSACTION: 'GrpcTransaction',
};

function lookupAnswer(reply: Message): Answer {
  const logged = reply['transaction'] as Message;
  const body = logged['body'] as Body;
  const id = body.transaction_id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const members = {
    id,
    basis: Number(reply['basis'] ?? 0),
    recorded: String(BigInt(body.recorded_time_ms) * 1_000_000n),
    hash: (logged['chain_hash'] as Buffer).toString('hex'),
    origin: ORIGINS[body.origin] ?? body.origin,
  };
  return { revision: Number(logged['revision']), members, mappings: mappingsOf(reply), events: loggedEvents(logged) };
}
