/** Names of the streams, subjects and event types of a database at a revision, in byte order. */

import type { AskedRevision } from '#base';
import { Faults, parseNamePrefix } from '#model';
import type { ListNamesReply, ListNamesRequest } from '#service';
import { type Attribute, namesPage } from '#ui';
import { pageLimit } from './paging.ts';
import { type HttpReply, nextLink, scopeHeaders } from './reply.ts';
import { listBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Route } from './route.ts';
import { show } from './show.ts';

const LISTINGS = { streams: 'listStreams', subjects: 'listSubjects', 'event-types': 'listEventTypes' } as const;

export const LISTING_ROUTES: readonly Route[] = (['streams', 'subjects', 'event-types'] as const).map((segment) => ({
  method: 'GET',
  path: `/db/{database}/{revision}/${segment}`,
  parameters: ['limit', 'prefix', 'after'],
  handle: redirecting(`/${segment}`, async (request, { service }, revision) =>
    listingReply(segment, request, await service[LISTINGS[segment]](toListRequest(request, revision))),
  ),
}));

function toListRequest(request: HttpRequest, at: AskedRevision): ListNamesRequest {
  const query = request.query();
  const faults = new Faults();
  const prefix = parseNamePrefix(query.get('prefix') ?? '', 'prefix', faults);
  const after = parseNamePrefix(query.get('after') ?? '', 'after', faults);
  faults.throwIfAny('The request is malformed');
  return {
    ...request.read(),
    at,
    limit: pageLimit(request),
    ...(prefix === undefined ? {} : { prefix }),
    ...(after === undefined ? {} : { after }),
  };
}

/** With `_` for `-` the segment is the member of the reply. */
function listingReply(segment: Attribute, request: HttpRequest, reply: ListNamesReply): Promise<HttpReply> {
  const last = reply.hasMore ? reply.names.at(-1)?.name : undefined;
  const next = last === undefined ? undefined : `${request.path()}?${request.query().with('after', last)}`;
  const first = { database: reply.databaseName, revision: reply.revision };
  const more = { has_more: reply.hasMore, next };
  const names = reply.names.map(({ name, firstRevision }) => ({ name, first_revision: firstRevision }));
  return show(request, {
    body: listBody(segment.replace('-', '_'), names, { first, last: more }),
    headers: { ...scopeHeaders(reply), ...nextLink(next) },
    describe: () => namesPage(segment, reply, next),
  });
}
