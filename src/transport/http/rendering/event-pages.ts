/** What is said of events: lists of them, one, and the transaction that committed them. */
import { decodeUtf8, quote } from '#base';
import { ALL, eventFacts, type JsonNode, streamOfSource } from '#model';
import type { Cause, FetchTransactionReply, ReadScope, SingleEventReply, StoredEvent } from '#service';
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
  transactionPath,
} from './paths.ts';

export interface ListedEvents {
  readonly scope: ReadScope;
  readonly count: number;
  readonly first: StoredEvent | undefined;
  readonly next: string | undefined;
  /** What they have in common, such as `of the stream "orders"`. */
  readonly what?: string;
  /** Where they are listed, when that takes the parameters of lists. */
  readonly path?: string;
  /** The filters of the list of all events that select them, as its query string says it; absent: no filters do. */
  readonly filters?: string;
}

export function eventsPage({ scope, count, first, next, what = '', path, filters }: ListedEvents): Description {
  const { databaseName, revision } = scope;
  const which = what === '' ? '' : ` ${what}`;
  const narrowing = path === undefined ? [] : [hasFilters(path) ? filterEvents(path) : pageEvents(path)];
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

function tailOf(scope: ReadScope, filters: string): Tail {
  const path = pathAtRevision(belowDatabase(scope, 'events'));
  return {
    latest: databasePath({ ...scope, revision: 'latest' }),
    eventsAtRevision: filters === '' ? path : `${path}?${filters}`,
    revision: scope.revision,
  };
}

/** Of the list of all events at a revision, which is narrowed down by what events say. */
function hasFilters(path: string): boolean {
  return path.startsWith('/db/') && path.endsWith('/events');
}

/** Where and what it is, before what else is said of it. */
const EVENT_COLUMNS = ['revision', 'index', 'type', 'subject', 'data', 'recordedtime', 'time', 'id', 'source'];

/** Of the members of an event in a list. */
function eventLinks(scope: Pick<ReadScope, 'databaseName' | 'revision'>): RowView['linksOf'] {
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

export function eventPage(reply: SingleEventReply, related: readonly Related[]): Description {
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
      ...relatedLinks(databaseName, related),
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

/** From one cause back to the one before it. */
function causeLinks(databaseName: string, causes: readonly Cause[]): Links {
  return Object.fromEntries(
    causes.map(({ transactionId }, place) => [
      place === 0 ? 'caused_by' : `caused_by_${place + 1}_back`,
      transactionPath(databaseName, transactionId),
    ]),
  );
}

function relatedLinks(databaseName: string, related: readonly Related[]): Links {
  return Object.fromEntries(
    related.map(({ how, revision, transactionId }) => [
      `${how}_${revision}`,
      transactionPath(databaseName, transactionId),
    ]),
  );
}

/** Other events that have something in common with it. */
function attributeLinks({ event: { bytes }, ...scope }: SingleEventReply): Links {
  const facts = eventFacts(bytes, 0, bytes.length);
  const text = (from: number, to: number): string => decodeUtf8(bytes, from, to) ?? '';
  const subject = facts.subjectStart === -1 ? undefined : text(facts.subjectStart, facts.subjectEnd);
  return {
    stream: attributePath(scope, 'streams', text(facts.streamStart, facts.streamEnd)),
    subject: subject === undefined ? undefined : attributePath(scope, 'subjects', subject),
    event_type: attributePath(scope, 'event-types', text(facts.typeStart, facts.typeEnd)),
  };
}

/** A later transaction that names this one as its cause, or one that has the same correlation id. */
export interface Related {
  readonly transactionId: string;
  readonly revision: number;
  readonly how: 'caused' | 'correlated';
}

/** `shownCount` of its events are on the page. */
export function transactionPage(
  reply: FetchTransactionReply,
  shownCount: number,
  related: readonly Related[],
): Description {
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
      ...relatedLinks(reply.databaseName, related),
      before: databasePath({ ...scope, revision: reply.transaction.basis }),
      after: databasePath(scope),
      latest: databasePath({ ...scope, revision: 'latest' }),
    },
    actions: [transact(scope, reply.revision)],
    place: scope,
    rows: { linksOf: eventLinks(scope), columns: EVENT_COLUMNS, hidden: ['specversion'] },
  };
}
