/** Definitions and listings of components, in both families. */
import { type AskedRevision, DatabaseError, quote } from '#base';
import type { ListVersionsReply } from '#service';
import { collectionEntry, latestOfNames, listedVersion, versionMembers } from './component-json.ts';
import { jsonInteger, jsonString } from './json-text.ts';
import { KIND_SEGMENTS } from './publish-routes.ts';
import { parseRevision } from './query-string.ts';
import { versionPage, versionsPage } from './rendering/component-pages.ts';
import type { ComponentSegment } from './rendering/paths.ts';
import { listBody, objectBody, type ReplyBody } from './rendering/reply-body.ts';
import { show } from './rendering/show.ts';
import { type HttpReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Handler, Route, RouteContext } from './route.ts';

const SEGMENTS: readonly ComponentSegment[] = ['state-views', 'state-changes', 'presenters'];

export const VERSION_ROUTES: readonly Route[] = [
  // There is no GET of /api/v1/db/{database}/state-views.
  { method: 'GET', path: '/api/v1/db/{database}/state-changes', handle: listing('state-changes', arrayOf) },
  { method: 'GET', path: '/api/v1/db/{database}/presenters', handle: listing('presenters', arrayOf) },
  { method: 'GET', path: '/api/v1/db/{database}/presenters/{name}/v{version}', handle: reading('presenters') },
  ...SEGMENTS.map(
    (segment): Route => ({
      method: 'GET',
      path: `/db/{database}/${segment}/{name}/v{version}`,
      handle: reading(segment),
    }),
  ),
  ...(['state-views', 'state-changes'] as const).flatMap((segment): readonly Route[] => [
    {
      method: 'GET',
      path: `/db/{database}/{revision}/${segment}`,
      // Versions are deleted and deactivated, at earlier revisions, too.
      handle: redirecting(`/${segment}`, scoped(segment), 'content'),
    },
    { method: 'GET', path: `/databases/{database}/${segment}`, handle: listing(segment, collectionOf) },
  ]),
  { method: 'GET', path: '/api/v1/db/{database}/state-views/{name}/v{version}/schema', handle: readSchema },
];

/** The data of a list. */
type Listed = (segment: ComponentSegment, list: ListVersionsReply) => ReplyBody;

function listing(segment: ComponentSegment, listed: Listed): Handler {
  return async (request, { service }) => {
    const list = await service.listVersions({ ...request.read(), at: 'latest', kind: KIND_SEGMENTS[segment] });
    return listReply(request, segment, list, listed);
  };
}

function scoped(segment: ComponentSegment) {
  return async (request: HttpRequest, { service }: RouteContext, at: AskedRevision): Promise<HttpReply> => {
    const list = await service.listVersions({ ...request.read(), at, kind: KIND_SEGMENTS[segment] });
    return listReply(request, segment, list, scopedOf);
  };
}

function listReply(
  request: HttpRequest,
  segment: ComponentSegment,
  list: ListVersionsReply,
  listed: Listed,
): Promise<HttpReply> {
  const body = listed(segment, list);
  const count = body.list?.items.count ?? 0;
  return show(request, {
    body,
    headers: scopeHeaders(list),
    describe: () => versionsPage(segment, list, count),
  });
}

function scopedOf(segment: ComponentSegment, { databaseName, revision, versions }: ListVersionsReply): ReplyBody {
  const first = { database: jsonString(databaseName), revision: jsonInteger(revision) };
  return listBody(memberOf(segment), versions.map(listedVersion), { first });
}

function arrayOf(_segment: ComponentSegment, { versions }: ListVersionsReply): ReplyBody {
  return listBody(undefined, versions.map(listedVersion));
}

function collectionOf(segment: ComponentSegment, { versions }: ListVersionsReply): ReplyBody {
  return listBody(memberOf(segment), latestOfNames(versions).map(collectionEntry));
}

function memberOf(segment: ComponentSegment): string {
  return segment.replace('-', '_');
}

function reading(segment: ComponentSegment): Handler {
  return async (request, { service }) => {
    const asked = { name: request.param('name'), version: versionIn(request) };
    const found = await service.findVersion({
      ...request.read(),
      at: 'latest',
      kind: KIND_SEGMENTS[segment],
      ...asked,
    });
    return show(request, {
      body: objectBody(versionMembers(found.version)),
      headers: scopeHeaders(found),
      describe: () => versionPage(found, found.version),
    });
  };
}

/** The bytes of a schema that a definition holds; one that it names is elsewhere. */
async function readSchema(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const asked = { name: request.param('name'), version: versionIn(request) };
  const found = await service.findVersion({ ...request.read(), at: 'latest', kind: 'state-view', ...asked });
  const { definition } = found.version;
  const schema = definition.kind === 'state-view' ? definition.schema : undefined;
  if (schema?.kind !== 'held') throw schemaNotHeld(asked.name, schema?.uri);
  return {
    status: 200,
    headers: scopeHeaders(found),
    contentType: 'application/schema+json',
    body: Buffer.from(schema.bytes),
  };
}

function schemaNotHeld(name: string, uri: string | undefined): DatabaseError {
  const elsewhere = uri === undefined ? 'has no schema' : `names its schema, ${quote(uri)}, and does not hold it`;
  return new DatabaseError('not_found', `The State View ${quote(name)} ${elsewhere}`, {
    details: { reason: 'SchemaNotFound' },
  });
}

/** The `{version}` of a path: any uint64; one that no component has is not found. */
export function versionIn(request: HttpRequest): number | bigint {
  return parseRevision('version', request.param('version'));
}
