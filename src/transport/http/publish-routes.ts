/** Publishes components, which are sent with their metadata in a multipart body. */
import { NO_BYTES } from '#base';
import { COMPONENT_BYTES_MAX, type ComponentKind, definitionFromJson, Faults, METADATA_BYTES_MAX } from '#model';
import { type ComponentSegment, expireSnapshots as expireAction, publish, versionPath } from '#ui';
import { lettingGo } from '../gathered-bytes.ts';
import { readOptionalJsonObject } from './body.ts';
import { versionMembers } from './component-json.ts';
import { readParts } from './multipart.ts';
import { emptyReply, type HttpReply, jsonReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Handler, Route, RouteContext } from './route.ts';

/** Bytes around the parts. */
const AROUND_BYTES = 524_288;
const VERSION = 'version';
const BODY_BYTES_MAX = COMPONENT_BYTES_MAX + METADATA_BYTES_MAX + AROUND_BYTES;

export const KIND_SEGMENTS: Readonly<Record<ComponentSegment, ComponentKind>> = {
  'state-views': 'state-view',
  'state-changes': 'state-change',
  presenters: 'presenter',
};

const PUBLISHING: readonly Route[] = (['state-views', 'state-changes', 'presenters'] as const).map((segment) => ({
  method: 'POST',
  path: `/api/v1/db/{database}/${segment}`,
  status: 201,
  bodyBytesMax: BODY_BYTES_MAX,
  parameters: [VERSION],
  // Publishing the same kind, name, bytes and metadata again returns the same version.
  isRepeatable: () => true,
  handle: publishing(segment),
  offered: ({ database = '' }) => publish({ databaseName: database }, segment),
}));

export const PUBLISH_ROUTES: readonly Route[] = [
  ...PUBLISHING,
  {
    method: 'POST',
    path: '/api/v1/db/{database}/state-views/{name}/expire-snapshots',
    handle: expireSnapshots,
    offered: ({ database = '', name = '' }) => expireAction({ databaseName: database }, name),
  },
  { method: 'DELETE', path: '/databases/{database}/state-views/{name}', handle: deleteStateView },
];

function publishing(segment: ComponentSegment): Handler {
  const kind = KIND_SEGMENTS[segment];
  return async (request, { service }) => {
    const parts = await readParts(request, ['metadata', 'wasm']);
    const faults = new Faults();
    const definition = definitionFromJson(kind, withoutMark(parts.get('metadata') ?? NO_BYTES), faults);
    const asked = {
      ...request.write(),
      definition,
      faults,
      component: parts.get('wasm') ?? NO_BYTES,
      componentField: 'wasm',
      version: request.query().integer(VERSION, { min: 1, max: Number.MAX_SAFE_INTEGER }),
    };
    const published = await lettingGo(request.body(), 0, () => service.publishComponent(asked));
    const { version, databaseName } = published;
    // The page of the new version.
    const location = versionPath(databaseName, segment, { name: version.definition.name, version: version.version });
    return jsonReply(201, versionMembers(version), { ...scopeHeaders(published), location });
  };
}

/** Some editors and shells write a UTF-8 byte order mark at the start of text files. */
function withoutMark(text: Uint8Array): Uint8Array {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? text.subarray(3) : text;
}

async function expireSnapshots(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  readOptionalJsonObject(request, []);
  const name = request.param('name');
  const reply = await service.expireSnapshots({ ...request.write(), name });
  return jsonReply(200, { epoch: reply.foldEpoch }, scopeHeaders(reply));
}

async function deleteStateView(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  readOptionalJsonObject(request, []);
  const name = request.param('name');
  const deleted = await service.deleteVersions({ ...request.write(), kind: 'state-view', name });
  return emptyReply({ 'x-database-id': deleted.databaseId });
}
