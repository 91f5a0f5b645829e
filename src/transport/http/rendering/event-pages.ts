/** What is said of events: lists of them, one, and the transaction that committed them. */
import { decodeUtf8, quote } from '#base';
import { ALL, eventFacts } from '#model';
import type { FetchTransactionReply, ReadScope, SingleEventReply, StoredEvent } from '#service';
import { PAGING, queryEvents, transact } from './actions.ts';
import { contextLinks, counted, moreBehind } from './database-pages.ts';
import type { Action, Description, Links } from './description.ts';
import { attributePath, databasePath, eventPath, queryPath } from './paths.ts';

export interface ListedEvents {
  readonly scope: ReadScope;
  readonly count: number;
  readonly first: StoredEvent | undefined;
  readonly next: string | undefined;
  /** What they have in common, such as `of the stream "orders"`. */
  readonly what?: string;
  /** Where they are listed, when that takes the parameters of lists. */
  readonly path?: string;
}

export function eventsPage({ scope, count, first, next, what = '', path }: ListedEvents): Description {
  const { databaseName, revision } = scope;
  const which = what === '' ? '' : ` ${what}`;
  const paged: readonly Action[] =
    path === undefined
      ? []
      : [{ name: 'page', method: 'GET', path, does: 'lists them by other pages, or from the end', query: PAGING }];
  return {
    summary: `${counted(count, 'event')}${which} of the database ${databaseName} at revision ${revision}; ${moreBehind(next)}.`,
    links: {
      next,
      first_event: first && eventPath(scope, first.position),
      ...contextLinks(scope),
    },
    actions: [...paged, queryEvents(scope), transact(scope, revision)],
  };
}

export function eventPage(reply: SingleEventReply): Description {
  const { event, eventCount, databaseName } = reply;
  const { revision, index } = event.position;
  const last = eventCount - 1;
  return {
    summary: `Event ${index} (0 to ${last}) of the transaction of revision ${revision} of the database ${databaseName}.`,
    links: {
      next: index < last ? eventPath(reply, { revision, index: index + 1 }) : undefined,
      previous: index > 0 ? eventPath(reply, { revision, index: index - 1 }) : undefined,
      transaction_events: queryPath(reply, { selector: ALL, revisions: { start: revision, end: revision } }),
      ...attributeLinks(reply),
      ...contextLinks(reply),
    },
    actions: [transact(reply, reply.revision)],
  };
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

/** `shownCount` of its events are on the page. */
export function transactionPage(reply: FetchTransactionReply, shownCount: number): Description {
  const { transactionId, revision, events } = reply.transaction;
  const scope = { databaseName: reply.databaseName, revision };
  const last = events[shownCount - 1]?.position;
  const rest = { selector: ALL, revisions: { start: revision, end: revision }, after: last };
  const shown = shownCount < events.length ? `, of which the first ${shownCount} are shown` : '';
  const which = `The transaction ${quote(transactionId)} is revision ${revision} of the database ${reply.databaseName}`;
  return {
    summary: `${which} and has ${counted(events.length, 'event')}${shown}.`,
    links: {
      next_events: shownCount < events.length ? queryPath(scope, rest) : undefined,
      first_event: eventPath(scope, { revision, index: 0 }),
      before: databasePath({ ...scope, revision: reply.transaction.basis }),
      after: databasePath(scope),
      latest: databasePath({ ...scope, revision: 'latest' }),
    },
    actions: [transact(scope, reply.revision)],
  };
}
