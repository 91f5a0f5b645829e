/** Definitions and listings of components, in both families. */
import { type AskedRevision, DatabaseError, quote } from '#base';
import type { ListVersionsReply, ListVersionsRequest } from '#service';
import { collectionEntry, latestOfNames, listedVersion, versionJson } from './component-json.ts';
import { type JsonText, jsonArray, jsonInteger, jsonObject, jsonString } from './json-text.ts';
import { KIND_SEGMENTS, type KindSegment } from './publish-routes.ts';
import { parseRevision } from './query-string.ts';
import { type HttpReply, jsonReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Handler, Route, RouteContext } from './route.ts';

const SEGMENTS: readonly KindSegment[] = ['state-views', 'state-changes', 'presenters'];

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
      handle: redirecting(`/${segment}`, scoped(segment)),
    },
    { method: 'GET', path: `/databases/{database}/${segment}`, handle: listing(segment, collectionOf) },
  ]),
  { method: 'GET', path: '/api/v1/db/{database}/state-views/{name}/v{version}/schema', handle: readSchema },
];

type Show = (segment: KindSegment, list: ListVersionsReply) => JsonText;

function listing(segment: KindSegment, show: Show): Handler {
  return async (request, { service }) => {
    const list = await service.listVersions({ ...request.read(), at: 'latest', kind: KIND_SEGMENTS[segment] });
    return jsonReply(200, show(segment, list), scopeHeaders(list));
  };
}

function scoped(segment: KindSegment) {
  return async (request: HttpRequest, { service }: RouteContext, at: AskedRevision): Promise<HttpReply> => {
    const asked: ListVersionsRequest = { ...request.read(), at, kind: KIND_SEGMENTS[segment] };
    const list = await service.listVersions(asked);
    const body = jsonObject({
      database: jsonString(list.databaseName),
      revision: jsonInteger(list.revision),
      [memberOf(segment)]: arrayOf(segment, list),
    });
    return jsonReply(200, body, scopeHeaders(list));
  };
}

function arrayOf(_segment: KindSegment, { versions }: ListVersionsReply): JsonText {
  return jsonArray(versions.map(listedVersion));
}

function collectionOf(segment: KindSegment, { versions }: ListVersionsReply): JsonText {
  return jsonObject({ [memberOf(segment)]: jsonArray(latestOfNames(versions).map(collectionEntry)) });
}

function memberOf(segment: KindSegment): string {
  return segment.replace('-', '_');
}

function reading(segment: KindSegment): Handler {
  return async (request, { service }) => {
    const asked = { name: request.param('name'), version: versionIn(request) };
    const found = await service.findVersion({
      ...request.read(),
      at: 'latest',
      kind: KIND_SEGMENTS[segment],
      ...asked,
    });
    return jsonReply(200, versionJson(found.version), scopeHeaders(found));
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
