/**
 * Commands: a State Change decides, and its transaction is committed. The body is the command, or describes it as
 * method, path and body. With `dry_run=true` nothing is committed.
 */

import {
  type AskedCommand,
  commandFrom,
  Faults,
  type JsonObject,
  NO_OPTIONS,
  ORIGIN,
  readMember,
  textFrom,
  textsFrom,
} from '#model';
import {
  commandCode,
  commandError,
  type DecideCommandReply,
  type ExecuteCommandReply,
  type ReadAt,
  storedEvents,
  undecidedError,
} from '#service';
import { executeCommand, type NamedVersion, runCommand } from '#ui';
import { assertNotEncoded, readJsonObject } from './body.ts';
import { BATCH_ID, commandHeaders, LAST_SEEN } from './command-headers.ts';
import { errorReply } from './errors.ts';
import { type JsonMembers, RawJson, rawObject } from './json-text.ts';
import { COMMAND_REQUEST_BYTES_MAX } from './limits.ts';
import { eventsJson } from './paging.ts';
import { parseRevision } from './query-string.ts';
import { type HttpReply, jsonReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import { parseSegment } from './revision-segment.ts';
import type { Route, RouteContext } from './route.ts';
import { commandRecord } from './transaction-json.ts';
import { versionIn } from './version-routes.ts';

const DRY_RUN = 'dry_run';
const JSON_TYPE = 'application/json';

const COMMON = {
  method: 'POST',
  bodyBytesMax: COMMAND_REQUEST_BYTES_MAX,
  headers: [BATCH_ID],
  // A repeated id is answered with the recorded result.
  isRepeatable: (request: HttpRequest) => request.header(BATCH_ID) !== undefined,
} as const;

export const COMMAND_ROUTES: readonly Route[] = [
  {
    ...COMMON,
    path: '/api/v1/db/{database}/{revision}/state-changes/{name}/v{version}',
    takesAnyParameter: true,
    handle: runAtRevision,
    offered: ({ database = '', ...change }) => runCommand({ databaseName: database }, namedIn(change)),
  },
  {
    ...COMMON,
    path: '/api/v1/db/{database}/state-changes/{name}/v{version}/execute',
    parameters: [DRY_RUN],
    headers: [BATCH_ID, LAST_SEEN],
    handle: runDescribed,
    offered: ({ database = '', ...change }) => executeCommand({ databaseName: database }, namedIn(change)),
  },
  {
    ...COMMON,
    path: '/api/v1/databases/{database}/state-changes/{name}/versions/{version}',
    takesAnyParameter: true,
    handle: (request, context) => runBody(request, context, 'latest'),
  },
  { ...COMMON, path: '/databases/{database}/state-changes/{name}/process', handle: processCommand },
];

/** The action of a form that is shown again at the path of its request. */
function namedIn({ name = '' }: Readonly<Record<string, string>>): NamedVersion {
  return { name, version: 0 };
}

function runAtRevision(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const segment = parseSegment(request.param('revision'));
  return runBody(request, context, segment.kind === 'number' ? segment.revision : segment.kind);
}

/** The body is the command. The component receives the query string, too. */
async function runBody(request: HttpRequest, context: RouteContext, at: ReadAt): Promise<HttpReply> {
  const query = request.query();
  const queryParameters = [...query.names()]
    .filter((name) => name !== DRY_RUN)
    .map((name) => [name, query.get(name) ?? ''] as const);
  assertNotEncoded(request);
  const body = request.body();
  const contentType = request.header('content-type');
  const asked = { contentType, queryParameters, body: body.length === 0 ? undefined : body };
  return run(request, context, asked, { at, faults: new Faults() });
}

async function runDescribed(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const text = request.header(LAST_SEEN);
  const lastSeen = text === undefined ? undefined : parseRevision(LAST_SEEN, text);
  const faults = new Faults();
  const body = readJsonObject(request, DESCRIBED, { raw: RAW });
  const asked: AskedCommand = {
    method: readMember(body, ['method'], { field: '', faults }, textFrom),
    path: readMember(body, ['path'], { field: '', faults }, textFrom),
    ...jsonMember(body, 'body'),
  };
  return run(request, context, asked, { ...(lastSeen === undefined ? { at: 'latest' } : { lastSeen }), faults });
}

type Executed = Parameters<RouteContext['service']['executeCommand']>[0];

async function run(
  request: HttpRequest,
  context: RouteContext,
  asked: AskedCommand,
  { faults, ...basis }: Pick<Executed, 'at' | 'lastSeen' | 'faults'>,
): Promise<HttpReply> {
  const command = commandFrom({ ...asked, headers: commandHeaders(request) }, { field: '', faults });
  const decision = { name: request.param('name'), version: versionIn(request), command, faults };
  if (request.query().flag(DRY_RUN)) {
    const at = basis.lastSeen ?? basis.at ?? 'latest';
    return dryReply(await context.service.decideCommand({ ...decision, ...request.read(), at }));
  }
  const reply = await execute(request, context, { ...decision, ...basis });
  if (reply.kind !== 'committed' && reply.kind !== 'nothing') return errorReply(commandError(reply));
  const recorded = reply.kind === 'committed' ? reply.transaction : undefined;
  return jsonReply(200, commandRecord(reply.revision, recorded), scopeHeaders(reply));
}

function execute(
  request: HttpRequest,
  { service }: RouteContext,
  asked: Pick<Executed, 'name' | 'version' | 'command' | 'faults' | 'at' | 'lastSeen'>,
): Promise<ExecuteCommandReply> {
  return service.executeCommand({
    ...request.write(),
    ...asked,
    batchId: request.header(BATCH_ID),
    batchIdField: BATCH_ID,
    origin: ORIGIN.HTTP_STATE_CHANGE,
    options: NO_OPTIONS,
    signal: request.signal(),
  });
}

function dryReply(reply: DecideCommandReply): HttpReply {
  if (reply.kind !== 'decided') return errorReply(commandError(reply));
  const { revision, events } = reply;
  return jsonReply(200, { dry_run: true, revision, events: eventsJson(events) }, scopeHeaders(reply));
}

/** A refusal by the component is a reply, as over gRPC. A failure to decide is an error. */
async function processCommand(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const faults = new Faults();
  const sent = readJsonObject(request, ['command', 'parameters'], { raw: RAW });
  const parameters = readMember(sent, ['parameters'], { field: '', faults }, textsFrom);
  const asked = { ...jsonMember(sent, 'command'), parameters, headers: commandHeaders(request) };
  const command = commandFrom(asked, { field: 'command', faults });
  const reply = await execute(request, context, { name: request.param('name'), command, faults });
  const undecided = undecidedError(reply);
  if (undecided !== undefined) return errorReply(undecided);
  return jsonReply(200, processed(reply), scopeHeaders(reply));
}

function processed(reply: ExecuteCommandReply): JsonMembers {
  if (reply.kind === 'committed' || reply.kind === 'nothing') {
    const events = reply.kind === 'committed' ? eventsJson(storedEvents(reply.transaction)) : [];
    return { success: true, events, revision: reply.revision };
  }
  const { message } = commandError(reply);
  const details = reply.kind === 'refused' ? reply.refusal.details : undefined;
  const error = rawObject({ code: commandCode(reply), message, details: details && new RawJson(details) });
  return { success: false, error };
}

const DESCRIBED = ['method', 'path', 'body'];
/** A value that the component receives as it was written. */
const RAW: ReadonlySet<string> = new Set(['body', 'command']);

/** The bytes of a value, for the body of a command. */
function jsonMember(body: JsonObject, name: string): Pick<AskedCommand, 'contentType' | 'body'> {
  const node = body.members.get(name);
  return node?.kind === 'raw' ? { contentType: JSON_TYPE, body: node.bytes } : {};
}
