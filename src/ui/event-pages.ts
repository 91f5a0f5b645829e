/** Pages of events: a list, one event, and a transaction. */
import { decodeUtf8, quote } from '#base';
import { ALL, eventFacts, type JsonNode, type Position, streamOfSource, type TransactionOptions } from '#model';
import { filterEvents, pageEvents, queryEvents, transact } from './actions.ts';
import { contextLinks, counted, moreBehind, textIn } from './database-pages.ts';
import type { Description, Links, RowView, Tail } from './description.ts';
import {
  attributePath,
  belowDatabase,
  databasePath,
  eventPath,
  pathAtRevision,
  queryPath,
  type Scope,
  transactionPath,
} from './paths.ts';

interface StoredEvent {
  readonly position: Position;
  readonly bytes: Uint8Array;
}

/** An earlier transaction that a transaction names as its cause. */
interface Cause {
  readonly transactionId: string;
}

export interface ListedEvents {
  readonly scope: Scope;
  readonly count: number;
  readonly first: StoredEvent | undefined;
  readonly next: string | undefined;
  /** Property that the events share, such as `of the stream "orders"`. */
  readonly what?: string;
  /** Path of the list, if it takes the parameters of lists. */
  readonly path?: string;
  /** Filters that select them in the list of all events, as a query string; absent when no filters can. */
  readonly filters?: string;
}

export function eventsPage({ scope, count, first, next, what = '', path, filters }: ListedEvents): Description {
  const { databaseName, revision } = scope;
  const which = what === '' ? '' : ` ${what}`;
  // The list of all events at a revision.
  const takesFilters = path?.startsWith('/db/') === true && path.endsWith('/events');
  const narrowing = path === undefined ? [] : [takesFilters ? filterEvents(path) : pageEvents(path)];
  return {
    title: what === '' ? 'Events' : `Events ${what}`,
    summary: `${counted(count, 'event')}${which} of the database ${databaseName} at revision ${revision}; ${moreBehind(next)}.`,
    links: {
      next,
      first_event: first && eventPath(scope, first.position),
      ...contextLinks(scope),
    },
    actions: [...narrowing, queryEvents(scope), transact(scope, revision)],
    place: { databaseName, revision, ...(path?.startsWith('/db/') && { pathAtRevision: pathAtRevision(path) }) },
    ...(filters !== undefined && { tail: tailOf(scope, filters) }),
    rows: { linksOf: eventLinks(scope), columns: EVENT_COLUMNS, hidden: ['specversion'] },
  };
}

function tailOf(scope: Scope, filters: string): Tail {
  const path = pathAtRevision(belowDatabase(scope, 'events'));
  return {
    latest: databasePath({ ...scope, revision: 'latest' }),
    eventsAtRevision: filters === '' ? path : `${path}?${filters}`,
    revision: scope.revision,
  };
}

const EVENT_COLUMNS = ['revision', 'index', 'type', 'subject', 'data', 'recordedtime', 'time', 'id', 'source'];

function eventLinks(scope: Scope): RowView['linksOf'] {
  return (row) => {
    const [revision, index] = ['revision', 'index'].map((name) => numberIn(row, name));
    const [type, subject, source] = ['type', 'subject', 'source'].map((name) => textIn(row, name));
    const stream = source === undefined ? undefined : streamOfSource(source);
    const isPlaced = revision !== undefined && index !== undefined;
    return {
      id: isPlaced ? eventPath(scope, { revision, index }) : undefined,
      type: type && attributePath(scope, 'event-types', type),
      subject: subject && attributePath(scope, 'subjects', subject),
      source: stream && attributePath(scope, 'streams', stream),
      revision: revision === undefined ? undefined : databasePath({ ...scope, revision }),
    };
  };
}

function numberIn(row: ReadonlyMap<string, JsonNode>, member: string): number | undefined {
  const node = row.get(member);
  return node?.kind === 'number' ? Number(node.text) : undefined;
}

export interface ShownEvent extends Scope {
  readonly event: StoredEvent;
  /** Events of its transaction. */
  readonly eventCount: number;
  readonly transactionId: string;
  readonly correlationId: string | undefined;
  readonly causes: readonly Cause[];
}

export function eventPage(reply: ShownEvent): Description {
  const { event, eventCount, databaseName, correlationId } = reply;
  const { revision, index } = event.position;
  const last = eventCount - 1;
  return {
    title: `Event ${index} of revision ${revision}`,
    summary: `Event ${index} (0 to ${last}) of the transaction of revision ${revision} of the database ${databaseName}${correlated(correlationId)}.`,
    links: {
      next: index < last ? eventPath(reply, { revision, index: index + 1 }) : undefined,
      previous: index > 0 ? eventPath(reply, { revision, index: index - 1 }) : undefined,
      transaction: transactionPath(databaseName, reply.transactionId),
      ...causeLinks(databaseName, reply.causes),
      transaction_events: queryPath(reply, { selector: ALL, revisions: { start: revision, end: revision } }),
      ...attributeLinks(reply),
      ...contextLinks(reply),
    },
    actions: [transact(reply, reply.revision)],
    place: { databaseName, revision: reply.revision },
  };
}

function correlated(correlationId: string | undefined): string {
  return correlationId === undefined ? '' : `, with the correlation id ${quote(correlationId)}`;
}

/** Links to the causes, from the nearest one back. */
function causeLinks(databaseName: string, causes: readonly Cause[]): Links {
  return Object.fromEntries(
    causes.map(({ transactionId }, place) => [
      place === 0 ? 'caused_by' : `caused_by_${place + 1}_back`,
      transactionPath(databaseName, transactionId),
    ]),
  );
}

/** Links to events with the same stream, subject or type. */
function attributeLinks({ event: { bytes }, ...scope }: ShownEvent): Links {
  const facts = eventFacts(bytes, 0, bytes.length);
  const text = (from: number, to: number): string => decodeUtf8(bytes, from, to) ?? '';
  const subject = facts.subjectStart === -1 ? undefined : text(facts.subjectStart, facts.subjectEnd);
  return {
    stream: attributePath(scope, 'streams', text(facts.streamStart, facts.streamEnd)),
    subject: subject === undefined ? undefined : attributePath(scope, 'subjects', subject),
    event_type: attributePath(scope, 'event-types', text(facts.typeStart, facts.typeEnd)),
  };
}

export interface ShownTransaction extends Scope {
  readonly transaction: {
    readonly transactionId: string;
    readonly revision: number;
    readonly basis: number;
    readonly events: readonly StoredEvent[];
    readonly options: Pick<TransactionOptions, 'correlationId'>;
  };
  readonly causes: readonly Cause[];
}

/** `shownCount` of its events are on the page. */
export function transactionPage(reply: ShownTransaction, shownCount: number): Description {
  const { transactionId, revision, events, options } = reply.transaction;
  const scope = { databaseName: reply.databaseName, revision };
  const last = events[shownCount - 1]?.position;
  const rest = { selector: ALL, revisions: { start: revision, end: revision }, after: last };
  const shown = shownCount < events.length ? `, of which the first ${shownCount} are shown` : '';
  const which = `The transaction ${quote(transactionId)} is revision ${revision} of the database ${reply.databaseName}`;
  return {
    title: `Transaction of revision ${revision}`,
    summary: `${which} and has ${counted(events.length, 'event')}${shown}${correlated(options.correlationId)}.`,
    links: {
      next_events: shownCount < events.length ? queryPath(scope, rest) : undefined,
      first_event: eventPath(scope, { revision, index: 0 }),
      ...causeLinks(reply.databaseName, reply.causes),
      before: databasePath({ ...scope, revision: reply.transaction.basis }),
      after: databasePath(scope),
      latest: databasePath({ ...scope, revision: 'latest' }),
    },
    actions: [transact(scope, reply.revision)],
    place: scope,
    rows: { linksOf: eventLinks(scope), columns: EVENT_COLUMNS, hidden: ['specversion'] },
  };
}
