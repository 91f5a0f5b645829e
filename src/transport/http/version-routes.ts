/** Definitions and listings of components, in both families. */

import { type AskedRevision, DatabaseError, quote } from '#base';
import type { DefinedVersion } from '#model';
import type { ListVersionsReply } from '#service';
import { type ComponentSegment, versionPage, versionsPage } from '#ui';
import { collectionEntry, latestOfNames, listedVersion, versionMembers } from './component-json.ts';
import { type ListPage, type Naming, PAGE_PARAMETERS, pageOfList } from './list-pages.ts';
import { KIND_SEGMENTS } from './publish-routes.ts';
import { parseRevision } from './query-string.ts';
import { type HttpReply, nextLink, scopeHeaders } from './reply.ts';
import { listBody, objectBody, type ReplyBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Handler, Route, RouteContext } from './route.ts';
import { show } from './show.ts';
import { STATE_PARAMETERS, shownState, stateMembers } from './shown-state.ts';

interface ListForm {
  readonly entries: (versions: readonly DefinedVersion[]) => readonly DefinedVersion[];
  readonly naming: Naming<DefinedVersion>;
  readonly body: (segment: ComponentSegment, list: ListVersionsReply, part: ListPage<DefinedVersion>) => ReplyBody;
}

const NAMED_VERSION = /^(.*)\/v(\d+)$/;

/** `{name}/v{version}`. A name alone comes after all of its versions. */
const BY_VERSION: Naming<DefinedVersion> = {
  nameOf: ({ definition, version }) => `${definition.name}/v${version}`,
  isBehind: ({ definition: { name }, version }, after) => {
    const [, afterName = after, afterVersion = 'Infinity'] = NAMED_VERSION.exec(after) ?? [];
    return name > afterName || (name === afterName && version > Number(afterVersion));
  },
};

const BY_NAME: Naming<DefinedVersion> = {
  nameOf: ({ definition }) => definition.name,
  isBehind: ({ definition }, after) => definition.name > after,
};

const ALL_VERSIONS = { entries: (versions: readonly DefinedVersion[]) => versions, naming: BY_VERSION };

const SCOPED: ListForm = {
  ...ALL_VERSIONS,
  body: (segment, { databaseName, revision }, { shown, next }) => {
    const first = { database: databaseName, revision };
    return listBody(memberOf(segment), shown.map(listedVersion), { first, last: { next } });
  },
};

const ARRAY: ListForm = {
  ...ALL_VERSIONS,
  body: (_segment, _list, { shown }) => listBody(undefined, shown.map(listedVersion)),
};

const COLLECTION: ListForm = {
  entries: latestOfNames,
  naming: BY_NAME,
  body: (segment, _list, { shown, next }) =>
    listBody(memberOf(segment), shown.map(collectionEntry), { last: { next } }),
};

const SEGMENTS: readonly ComponentSegment[] = ['state-views', 'state-changes', 'presenters'];

export const VERSION_ROUTES: readonly Route[] = [
  // There is no GET of /api/v1/db/{database}/state-views.
  ...(['state-changes', 'presenters'] as const).map(
    (segment): Route => ({
      method: 'GET',
      path: `/api/v1/db/{database}/${segment}`,
      parameters: PAGE_PARAMETERS,
      handle: listing(segment, ARRAY),
    }),
  ),
  { method: 'GET', path: '/api/v1/db/{database}/presenters/{name}/v{version}', handle: reading('presenters') },
  ...SEGMENTS.map(
    (segment): Route => ({
      method: 'GET',
      path: `/db/{database}/${segment}/{name}/v{version}`,
      ...(segment === 'state-views' && { parameters: STATE_PARAMETERS, takesBindings: true }),
      handle: reading(segment),
    }),
  ),
  ...(['state-views', 'state-changes'] as const).flatMap((segment): readonly Route[] => [
    {
      method: 'GET',
      path: `/db/{database}/{revision}/${segment}`,
      parameters: PAGE_PARAMETERS,
      // Deleting or deactivating a version changes the list at earlier revisions, too.
      handle: redirecting(`/${segment}`, scoped(segment), 'content'),
    },
    {
      method: 'GET',
      path: `/databases/{database}/${segment}`,
      parameters: PAGE_PARAMETERS,
      handle: listing(segment, COLLECTION),
    },
  ]),
  { method: 'GET', path: '/api/v1/db/{database}/state-views/{name}/v{version}/schema', handle: readSchema },
];

function listing(segment: ComponentSegment, form: ListForm): Handler {
  return async (request, { service }) => {
    const list = await service.listVersions({ ...request.read(), at: 'latest', kind: KIND_SEGMENTS[segment] });
    return listReply(request, segment, list, form);
  };
}

function scoped(segment: ComponentSegment) {
  return async (request: HttpRequest, { service }: RouteContext, at: AskedRevision): Promise<HttpReply> => {
    const list = await service.listVersions({ ...request.read(), at, kind: KIND_SEGMENTS[segment] });
    return listReply(request, segment, list, SCOPED);
  };
}

function listReply(
  request: HttpRequest,
  segment: ComponentSegment,
  list: ListVersionsReply,
  { entries, naming, body }: ListForm,
): Promise<HttpReply> {
  const part = pageOfList(request, entries(list.versions), naming);
  return show(request, {
    body: body(segment, list, part),
    headers: { ...scopeHeaders(list), ...nextLink(part.next) },
    describe: () => versionsPage(segment, list, part),
  });
}

function memberOf(segment: ComponentSegment): string {
  return segment.replace('-', '_');
}

function reading(segment: ComponentSegment): Handler {
  return async (request, context) => {
    const asked = { name: request.param('name'), version: versionIn(request) };
    const found = await context.service.findVersion({ ...request.read(), kind: KIND_SEGMENTS[segment], ...asked });
    const shown = segment === 'state-views' ? await shownState(request, context, asked.version) : undefined;
    return show(request, {
      body: objectBody({ ...stateMembers(shown), ...versionMembers(found.version) }),
      headers: scopeHeaders(found),
      describe: () => versionPage(found, found.version, shown),
    });
  };
}

/** Bytes of a schema that is stored in a definition, not one that it links to. */
async function readSchema(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const asked = { name: request.param('name'), version: versionIn(request) };
  const found = await service.findVersion({ ...request.read(), kind: 'state-view', ...asked });
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

/** The `{version}` of a path, any uint64. */
export function versionIn(request: HttpRequest): number | bigint {
  return parseRevision('version', request.param('version'));
}
