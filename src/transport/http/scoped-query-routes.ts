/**
 * Events of the revision-scoped family: the query in `q`, and one stream, subject or event type.
 *
 * All run at the revision in the path. A page that is not the last has the URL of the next one in the member `next` and
 * in `Link`.
 */

import { type AskedRevision, DatabaseError, formatInstant, quote } from '#base';
import {
  type EventQuery,
  Faults,
  parseName,
  queryFromParameter,
  queryToParameter,
  type ScopedQuery,
  term,
} from '#model';
import type { ReadScope } from '#service';
import { eventsPage, type ListedEvents } from '#ui';
import type { RevisionHandler } from './caching.ts';
import { cursorBehind, cursorFrom } from './cursor.ts';
import { nowAt } from './effective-time-cut.ts';
import { invalidField } from './errors.ts';
import { FILTER_PARAMETERS, filterFrom, filtersIn, LISTED_ATTRIBUTES, type ListedAttribute } from './event-filters.ts';
import type { JsonMembers } from './json-text.ts';
import { boundedQuery, type EventPage, PAGE_PARAMETERS, pageDirection, pageLimit, readPage } from './paging.ts';
import type { QueryParameters } from './query-string.ts';
import { type HttpReply, nextLink, redirectReply, scopeHeaders } from './reply.ts';
import { listBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { numeric } from './revision-segment.ts';
import type { Route, RouteContext } from './route.ts';
import { show } from './show.ts';

export const SCOPED_QUERY_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/db/{database}/{revision}/events',
    parameters: ['q', ...FILTER_PARAMETERS, ...PAGE_PARAMETERS],
    handle: numeric(queryAtRevision),
  },
  ...LISTED_ATTRIBUTES.map(
    (attribute): Route => ({
      method: 'GET',
      path: `/db/{database}/{revision}/${attribute.name.replace('_', '-')}s/{${attribute.name}}`,
      parameters: PAGE_PARAMETERS,
      handle: numeric(eventsOf(attribute)),
    }),
  ),
];

/** Events by `q`, a full query, or by filters. */
async function queryAtRevision(request: HttpRequest, context: RouteContext, at: AskedRevision): Promise<HttpReply> {
  const parameters = request.query();
  const text = parameters.get('q');
  if (text === undefined) {
    const { page, next } = await readListed(request, context, at, filterFrom(parameters));
    const filters = filtersIn(parameters);
    return pageReply(request, page, { members: {}, headers: {}, next, path: request.path(), filters });
  }
  const { query, endAtNow } = queryOf(text, parameters);
  const bounded = boundedQuery(request, query);
  if (endAtNow) return redirectToNow(request, context, { at, query });
  const page = await readPage(context.service, request, { at, query: bounded });
  const end = query.effectiveTime?.end;
  const endAt = end === undefined ? undefined : formatInstant(end);
  const next = page.more === undefined ? undefined : { ...query, after: page.more.position };
  return pageReply(request, page, {
    members: { effective_time_end_at: endAt },
    headers: endAt === undefined ? {} : { 'x-effective-time-end-at': endAt },
    next: next === undefined ? undefined : `${request.path()}?q=${queryToParameter(next)}`,
  });
}

function queryOf(text: string, parameters: QueryParameters): ScopedQuery {
  for (const name of [...FILTER_PARAMETERS, ...PAGE_PARAMETERS]) {
    if (parameters.get(name) !== undefined) throw invalidField(name, 'must be inside q, if q is given');
  }
  const faults = new Faults();
  const query = queryFromParameter(text, faults);
  if (query === undefined) throw faults.toError('The query is malformed');
  return query;
}

/** Redirects `now` to a time in the URL, so that the reply can be repeated (SPEC-HTTP-R2). */
async function redirectToNow(
  request: HttpRequest,
  context: RouteContext,
  { at, query }: { readonly at: AskedRevision; readonly query: EventQuery },
): Promise<HttpReply> {
  const { instant: end, scope } = await nowAt(request, context, at);
  const resolved = queryToParameter({ ...query, effectiveTime: { ...query.effectiveTime, end } });
  const headers = { ...scopeHeaders(scope), 'x-effective-time-end-at': formatInstant(end) };
  return redirectReply('effective_time', `${request.path()}?q=${resolved}`, headers);
}

/** Events with this value; not_found when there are none at the revision. */
function eventsOf({ name, filter, kind, absent }: ListedAttribute): RevisionHandler {
  return async (request, context, at) => {
    const faults = new Faults();
    const value = parseName(request.param(name), name, faults);
    if (value === undefined) throw faults.toError('The path is malformed');
    const { page, next, isFirst } = await readListed(request, context, at, {
      selector: term(kind, value),
      revisions: {},
    });
    if (page.events.count === 0 && isFirst) throw nothingFound(page.scope, `${name} ${quote(value)}`, absent);
    const what = `of the ${name.replace('_', ' ')} ${quote(value)}`;
    const members = { [name]: value };
    const filters = new URLSearchParams({ [filter]: value }).toString();
    return pageReply(request, page, { members, headers: {}, next, what, path: request.path(), filters });
  };
}

/** A page of the selected events, by the parameters of all lists, and the path of the next one. */
async function readListed(
  request: HttpRequest,
  { service }: RouteContext,
  at: AskedRevision,
  selected: Pick<EventQuery, 'selector' | 'revisions'>,
) {
  const parameters = request.query();
  const cursor = cursorFrom(parameters.get('after'));
  const order = { direction: pageDirection(parameters), limit: pageLimit(request), after: cursor?.after };
  const query = { ...selected, ...order };
  const page = await readPage(service, request, { at, query, databaseId: cursor?.databaseId });
  const after = page.more === undefined ? undefined : cursorBehind(page.scope, page.more);
  const next = after === undefined ? undefined : `${request.path()}?${parameters.with('after', after)}`;
  return { page, next, isFirst: cursor === undefined };
}

function nothingFound({ databaseName, databaseId, revision }: ReadScope, what: string, reason: string): DatabaseError {
  const message = `The database ${quote(databaseName)} has no event of the ${what} at revision ${revision}`;
  return new DatabaseError('not_found', message, { details: { reason, scope: { databaseId, revision } } });
}

interface PageParts extends Pick<ListedEvents, 'what' | 'path' | 'filters'> {
  readonly members: JsonMembers;
  readonly headers: Readonly<Record<string, string>>;
  readonly next: string | undefined;
}

function pageReply(request: HttpRequest, page: EventPage, parts: PageParts): Promise<HttpReply> {
  const { members, headers, next, ...said } = parts;
  const { scope, events, first } = page;
  const { count } = events;
  const where = { database: scope.databaseName, revision: scope.revision };
  const more = { has_more: next !== undefined, next };
  return show(request, {
    body: listBody('events', events, { first: { ...where, ...members }, last: more }),
    headers: { ...scopeHeaders(scope), ...headers, ...nextLink(next) },
    describe: () => eventsPage({ ...said, scope, count, first, next }),
  });
}
