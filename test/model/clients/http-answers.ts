/** Converts HTTP replies to answers of the model's vocabulary. */
import type { Answer, ReadEvent, Request } from '../model/vocabulary.ts';
import { count, nanosOf, readEvent } from './http-json.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export type Json = Readonly<Record<string, unknown>>;

const STATUSES: Readonly<Record<string, number>> = {
  invalid_argument: 400,
  already_exists: 409,
  constraint_violated: 409,
  TransactionTooLarge: 413,
};

interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: {
      readonly reason?: string;
      readonly constraints?: readonly { readonly index: number; readonly found: number }[];
    };
  };
}

export function failure({ status, text }: Reply): Answer {
  const unexpected = { error: `${status}: ${text}` };
  if (!text.startsWith('{"error":')) return unexpected;
  const { code, details = {} } = (JSON.parse(text) as ErrorBody).error;
  const { reason = '', constraints } = details;
  const isKnown = status === (code === 'NOT_FOUND' ? 404 : STATUSES[reason]);
  if (!isKnown) return unexpected;
  return {
    error: reason,
    ...(constraints === undefined ? {} : { violations: constraints.map(({ index, found }) => `${index}: ${found}`) }),
  };
}

export function answerOf(request: Request, json: Json, reply: Reply): Answer {
  switch (request.kind) {
    case 'create':
    case 'database':
      return databaseAnswer(json);
    case 'publish':
      return {};
    case 'transact':
      return transactAnswer(json);
    case 'lookup':
      return { ...transactAnswer(json), members: lookupMembers(json['transaction'] as Json), events: eventsOf(json) };
    case 'catalog':
      return {
        names: (json['databases'] as (string | Json)[]).map((each) =>
          typeof each === 'string' ? each : String(each['name']),
        ),
      };
    case 'event':
      return { events: [readEvent(json)], hasMore: reply.headers['link'] !== undefined };
    case 'names': {
      const listed = json[request.listing.replace('-', '_')] as Json[];
      return {
        names: listed.map(({ name, first_revision: first }) => `${String(name)} since ${count(first)}`),
        hasMore: json['has_more'] === true,
      };
    }
    case 'query':
    case 'scan':
    case 'next':
    case 'delete':
    case 'subscribe':
    case 'malformed': {
      const cut = reply.headers['x-effective-time-end-at'];
      return {
        events: eventsOf(json),
        hasMore: json['has_more'] === true,
        ...(cut === undefined ? {} : { members: { cut: String(cut) } }),
      };
    }
  }
}

function eventsOf(json: Json): readonly ReadEvent[] {
  return (json['events'] as unknown[]).map(readEvent);
}

/** Both forms of a database: that of the revision-scoped routes, and that of the collection routes. */
function databaseAnswer(json: Json): Answer {
  const shared = {
    name: String(json['database'] ?? json['name']),
    created: nanosOf(json['created_at']),
    events: count(json['event_count']),
  };
  const databaseId = String(json['database_id']);
  if (json['latest_revision'] !== undefined)
    return { databaseId, members: { ...shared, revision: count(json['latest_revision']) } };
  const revision = count(json['revision']);
  const hash = revision === 0 ? {} : { hash: String(json['chain_hash']) };
  const timestamp = nanosOf(json['revision_timestamp']);
  return { databaseId, members: { ...shared, revision, basis: count(json['basis']), timestamp, ...hash } };
}

function transactAnswer(json: Json): Answer {
  const mappings = (json['event_id_mappings'] as Json[]).map(
    (each) => `${String(each['client_event_id'])} > ${String(each['stored_event_id'])}`,
  );
  const record = json['transaction'] as Json | undefined;
  const { transaction_id: id, replayed, revision } = record ?? json;
  const events = count(record?.['event_count'] ?? json['events_count']);
  const members = { id: String(id), events, replayed: replayed === true };
  const more =
    record === undefined ? {} : { basis: count(record['basis']), recorded: nanosOf(record['transaction_timestamp']) };
  return { revision: count(revision), members: { ...members, ...more }, mappings };
}

function lookupMembers(record: Json): Answer['members'] {
  const [id, hash, origin] = ['transaction_id', 'chain_hash', 'origin'].map((name) => String(record[name]));
  return {
    id: id ?? '',
    basis: count(record['basis']),
    recorded: nanosOf(record['transaction_timestamp']),
    hash: hash ?? '',
    origin: origin ?? '',
  };
}
