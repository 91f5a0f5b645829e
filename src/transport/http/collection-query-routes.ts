/**
 * Events of the collection-style family: the log of a database, and queries by body.
 *
 * The first page is read at the latest revision; later pages, by `next_cursor`, at the revision of the first (TH8).
 */

import { formatInstant, nearestRevision } from '#base';
import {
  ALL,
  collectionQueryFromJson,
  type Direction,
  type EventQuery,
  Faults,
  type JsonNode,
  type JsonObject,
  type RevisionBounds,
} from '#model';
import { eventsPage, type ListedEvents, queryPath } from '#ui';
import { readJsonBody } from './body.ts';
import { type Cursor, cursorBehind, cursorFrom } from './cursor.ts';
import {
  boundedQuery,
  type EventPage,
  PAGE_PARAMETERS,
  type PageQuery,
  pageDirection,
  pageLimit,
  readPage,
} from './paging.ts';
import { parseRevision } from './query-string.ts';
import { type HttpReply, nextLink, scopeHeaders } from './reply.ts';
import { listBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';
import { show } from './show.ts';

export const COLLECTION_QUERY_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/databases/{database}/events', parameters: PAGE_PARAMETERS, handle: readLog },
  { method: 'POST', path: '/databases/{database}/query', isRead: true, handle: queryByBody },
];

const DIGITS = /^\d+$/;

/** `after` is a revision or the `next_cursor` of the previous page. The two forms cannot be confused. */
async function readLog(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const parameters = request.query();
  const after = parameters.get('after');
  const isRevision = after !== undefined && DIGITS.test(after);
  const direction = pageDirection(parameters);
  const revisions = isRevision ? revisionsBehind(nearestRevision(parseRevision('after', after)), direction) : {};
  const query: PageQuery = { selector: ALL, revisions, direction, limit: pageLimit(request) };
  const page = await walk(request, context, query, isRevision ? undefined : cursorFrom(after, 'a revision'));
  const cursor = cursorOf(page);
  const next = cursor === undefined ? undefined : `${request.path()}?${parameters.with('after', cursor)}`;
  const path = request.path();
  return pageReply(request, page, { headers: nextLink(next), next, path, filters: '' });
}

/** No events exist after the largest possible revision or before the first. */
function revisionsBehind(revision: number, direction: Direction): RevisionBounds {
  if (direction === 'reverse') return { end: Math.max(revision - 1, 0) };
  return { start: Math.min(revision + 1, Number.MAX_SAFE_INTEGER) };
}

async function queryByBody(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const { node } = readJsonBody(request);
  const { cursor, rest } = takeCursor(node);
  const faults = new Faults();
  const query = collectionQueryFromJson(rest, faults);
  if (query === undefined) throw faults.toError('The query is malformed');
  const page = await walk(request, context, boundedQuery(request, query), cursor);
  // The query of the body as a link of a page: at the revision of the first page.
  const { scope, more } = page;
  const next = more === undefined ? undefined : queryPath(scope, { ...query, after: more.position });
  return pageReply(request, page, { headers: cutHeader(query), next });
}

/** The body without its `after`, if that is a cursor. A position stays. */
function takeCursor(node: JsonNode): { readonly cursor: Cursor | undefined; readonly rest: JsonNode } {
  const after = node.kind === 'object' ? node.members.get('after') : undefined;
  if (node.kind !== 'object' || after?.kind !== 'string') return { cursor: undefined, rest: node };
  const members = new Map(node.members);
  members.delete('after');
  const rest: JsonObject = { kind: 'object', members };
  return { cursor: cursorFrom(after.value, 'a position'), rest };
}

async function walk(
  request: HttpRequest,
  { service }: RouteContext,
  query: PageQuery,
  cursor: Cursor | undefined,
): Promise<EventPage> {
  if (cursor === undefined) return readPage(service, request, { at: 'latest', query });
  const { at, after, databaseId } = cursor;
  return readPage(service, request, { at, query: { ...query, after }, databaseId });
}

function cursorOf({ scope, more }: EventPage): string | undefined {
  return more === undefined ? undefined : cursorBehind(scope, more);
}

function cutHeader({ effectiveTime }: EventQuery): Readonly<Record<string, string>> {
  const end = effectiveTime?.end;
  return end === undefined ? {} : { 'x-effective-time-end-at': formatInstant(end) };
}

function pageReply(
  request: HttpRequest,
  page: EventPage,
  { headers, ...said }: Pick<ListedEvents, 'next' | 'path' | 'filters'> & Pick<HttpReply, 'headers'>,
): Promise<HttpReply> {
  const { scope, events, first } = page;
  const { count } = events;
  const more = { has_more: page.more !== undefined, next_cursor: cursorOf(page) };
  return show(request, {
    body: listBody('events', events, { last: more }),
    headers: { ...scopeHeaders(scope), ...headers },
    describe: () => eventsPage({ ...said, scope, count, first }),
  });
}
