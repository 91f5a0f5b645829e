/**
 * Events of the revision-scoped family: the query in `q`, and one stream, subject or event type.
 *
 * All of them run at the number in the path. A page with more behind it names the whole next request, in the member
 * `next` and as a `Link`.
 */
import { type AskedRevision, DatabaseError, formatInstant, INSTANT_SECONDS_MAX, instantFromMs, quote } from '#base';
import {
  ALL,
  type Direction,
  type EventQuery,
  Faults,
  parseEventType,
  parseStreamName,
  parseSubject,
  queryFromParameter,
  queryToParameter,
  type ScopedQuery,
  type TermKind,
  term,
} from '#model';
import type { ReadScope } from '#service';
import { cursorBehind, cursorFrom } from './cursor.ts';
import { invalidField } from './errors.ts';
import { type JsonText, jsonInteger, jsonString, jsonStringIfPresent } from './json-text.ts';
import { boundedQuery, type EventPage, pageLimit, readPage } from './page.ts';
import type { QueryParameters } from './query-string.ts';
import { type HttpReply, jsonReply, nextLink, redirectReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import { numeric, type RevisionHandler } from './revision-segment.ts';
import type { Route, RouteContext } from './route.ts';

export const SCOPED_QUERY_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/db/{database}/{revision}/events',
    handle: numeric(queryAtRevision),
  },
  {
    method: 'GET',
    path: '/db/{database}/{revision}/streams/{stream}',
    handle: numeric(eventsOf({ name: 'stream', kind: 'by-stream', parse: parseStreamName })),
  },
  {
    method: 'GET',
    path: '/db/{database}/{revision}/subjects/{subject}',
    handle: numeric(eventsOf({ name: 'subject', kind: 'by-subject', parse: parseSubject })),
  },
  {
    method: 'GET',
    path: '/db/{database}/{revision}/event-types/{event_type}',
    handle: numeric(eventsOf({ name: 'event_type', kind: 'by-type', parse: parseEventType })),
  },
];

const EVERYTHING: ScopedQuery = { query: { selector: ALL, revisions: {}, direction: 'forward' }, endAtNow: false };

async function queryAtRevision(request: HttpRequest, context: RouteContext, at: AskedRevision): Promise<HttpReply> {
  const { query, endAtNow } = queryOf(request.query());
  const bounded = boundedQuery(query);
  if (endAtNow) return redirectToNow(request, context, { at, query });
  const page = await readPage(context.service, request, { at, query: bounded });
  const end = query.effectiveTime?.end;
  const endAt = end === undefined ? undefined : formatInstant(end);
  const next = page.more === undefined ? undefined : { ...query, after: page.more.position };
  return pageReply(page, {
    members: { effective_time_end_at: jsonStringIfPresent(endAt) },
    headers: endAt === undefined ? {} : { 'x-effective-time-end-at': endAt },
    next: next === undefined ? undefined : `${request.path()}?q=${queryToParameter(next)}`,
  });
}

function queryOf(parameters: QueryParameters): ScopedQuery {
  const text = parameters.get('q');
  if (text === undefined) return EVERYTHING;
  const faults = new Faults();
  const query = queryFromParameter(text, faults);
  if (query === undefined) throw faults.toError('The query is malformed');
  return query;
}

/** The last millisecond of the year 9999. */
const NOW_MS_MAX = INSTANT_SECONDS_MAX * 1000 + 999;

/**
 * Now becomes a time that the URL names, so that the answer can be repeated (SPEC-HTTP-R2). It is never before what the
 * revision recorded: a clock that was set back hides no transaction that was answered. A clock beyond the last instant
 * that can be written means that one, before which everything is.
 */
async function redirectToNow(
  request: HttpRequest,
  { service, clock }: RouteContext,
  { at, query }: { readonly at: AskedRevision; readonly query: EventQuery },
): Promise<HttpReply> {
  const scope = await service.databaseAt({ ...request.read(), at });
  const end = instantFromMs(Math.min(Math.max(clock.nowMs(), scope.revisionTimeMs), NOW_MS_MAX));
  const resolved = queryToParameter({ ...query, effectiveTime: { ...query.effectiveTime, end } });
  const headers = { ...scopeHeaders(scope), 'x-effective-time-end-at': formatInstant(end) };
  return redirectReply('effective_time', `${request.path()}?q=${resolved}`, headers);
}

interface Attribute {
  /** Parameter of the path and member of the reply. */
  readonly name: string;
  readonly kind: TermKind;
  readonly parse: (text: string, field: string, faults: Faults) => string | undefined;
}

/** The events that have this value; not_found when there is none at the revision. */
function eventsOf({ name, kind, parse }: Attribute): RevisionHandler {
  return async (request, { service }, at) => {
    const faults = new Faults();
    const value = parse(request.param(name), name, faults);
    if (value === undefined) throw faults.toError('The path is malformed');
    const parameters = request.query();
    const cursor = cursorFrom(parameters.get('after'));
    const query = {
      selector: term(kind, value),
      revisions: {},
      direction: directionFrom(parameters),
      limit: pageLimit(parameters),
      after: cursor?.after,
    };
    const page = await readPage(service, request, { at, query, databaseId: cursor?.databaseId });
    if (page.events.count === 0 && cursor === undefined) throw nothingFound(page.scope, name, value);
    const after = page.more === undefined ? undefined : cursorBehind(page.scope, page.more);
    return pageReply(page, {
      members: { [name]: jsonString(value) },
      headers: {},
      next: after === undefined ? undefined : `${request.path()}?${parameters.with('after', after)}`,
    });
  };
}

function directionFrom(parameters: QueryParameters): Direction {
  const text = parameters.get('direction') ?? 'forward';
  const direction = text.toLowerCase();
  if (direction === 'forward' || direction === 'reverse') return direction;
  throw invalidField('direction', 'must be forward or reverse', text);
}

function nothingFound(
  { databaseName, databaseId, revision }: ReadScope,
  attribute: string,
  value: string,
): DatabaseError {
  const what = `${attribute} ${quote(value)}`;
  const message = `The database ${quote(databaseName)} has no event of the ${what} at revision ${revision}`;
  return new DatabaseError('not_found', message, { details: { scope: { databaseId, revision } } });
}

interface PageParts {
  readonly members: Readonly<Record<string, JsonText | undefined>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Path and query string of the page behind this one, when there is one. */
  readonly next: string | undefined;
}

function pageReply({ scope, events }: EventPage, { members, headers, next }: PageParts): HttpReply {
  const where = { database: jsonString(scope.databaseName), revision: jsonInteger(scope.revision) };
  const more = { has_more: String(next !== undefined), next: jsonStringIfPresent(next) };
  const body = events.inObject({ ...where, ...members }, 'events', more);
  return jsonReply(200, body, { ...scopeHeaders(scope), ...headers, ...nextLink(next) });
}
