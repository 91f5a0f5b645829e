/** Names of the streams, subjects and event types of a database at a revision, in byte order. */

import type { AskedRevision } from '#base';
import { Faults, parseNamePrefix } from '#model';
import type { ListNamesReply, ListNamesRequest, Service } from '#service';
import { type Attribute, namesPage } from '#ui';
import { pageLimit } from './paging.ts';
import { type HttpReply, nextLink, scopeHeaders } from './reply.ts';
import { listBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Route } from './route.ts';
import { show } from './show.ts';

interface Listing {
  /** Last segment of the path. With `_` for `-` it is the member of the reply. */
  readonly segment: Attribute;
  readonly list: (service: Service, request: ListNamesRequest) => Promise<ListNamesReply>;
}

const LISTINGS: readonly Listing[] = [
  { segment: 'streams', list: (service, request) => service.listStreams(request) },
  { segment: 'subjects', list: (service, request) => service.listSubjects(request) },
  { segment: 'event-types', list: (service, request) => service.listEventTypes(request) },
];

export const LISTING_ROUTES: readonly Route[] = LISTINGS.map((listing) => ({
  method: 'GET',
  path: `/db/{database}/{revision}/${listing.segment}`,
  parameters: ['limit', 'prefix', 'after'],
  handle: redirecting(`/${listing.segment}`, async (request, { service }, revision) =>
    listingReply(listing, request, await listing.list(service, toListRequest(request, revision))),
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

function listingReply({ segment }: Listing, request: HttpRequest, reply: ListNamesReply): Promise<HttpReply> {
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
