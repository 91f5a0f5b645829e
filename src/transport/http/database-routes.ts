/** Databases: the revision-scoped family, the path that creates one by its URL, and the collection-style family. */

import { type AskedRevision, COPIES_MAX, quote } from '#base';
import {
  Faults,
  integerFrom,
  type JsonObject,
  member,
  parseDatabaseName,
  readMember,
  spellingIn,
  textFrom,
} from '#model';
import type { DatabaseDescription, ListedDatabase } from '#service';
import { CREATE_DATABASE, catalogPage, collectionPage, databasePage } from '#ui';
import { readJsonObject, readOptionalJsonObject } from './body.ts';
import { changesSince, SINCE } from './changes-since.ts';
import { databaseMetadata, databaseObject, singleDatabaseObject } from './database-json.ts';
import { invalidField } from './errors.ts';
import type { Json, JsonMembers } from './json-text.ts';
import { type Naming, PAGE_PARAMETERS, pageOfList } from './list-pages.ts';
import { parseRevision } from './query-string.ts';
import { emptyReply, type HttpReply, jsonReply, nextLink, scopeHeaders } from './reply.ts';
import { listBody, objectBody } from './reply-body.ts';
import type { HttpRequest } from './request.ts';
import { redirecting } from './revision-segment.ts';
import type { Handler, Route, RouteContext } from './route.ts';
import { show } from './show.ts';

/** Parameter with the id of one instance. */
const INSTANCE = 'database_id';

export const DATABASE_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/', parameters: PAGE_PARAMETERS, handle: listing(({ databaseName }) => databaseName) },
  { method: 'POST', path: '/api/v1/db', status: 201, handle: createByBody, offered: () => CREATE_DATABASE },
  { method: 'POST', path: '/api/v1/databases/{database}', status: 201, handle: createByPath },
  { method: 'DELETE', path: '/api/v1/db/{database}', parameters: [INSTANCE], handle: deleteDatabase },
  {
    method: 'GET',
    path: '/db/{database}/{revision}',
    parameters: [SINCE],
    handle: redirecting('', readAtRevision),
  },
  { method: 'GET', path: '/databases', parameters: PAGE_PARAMETERS, handle: listing(databaseObject) },
  { method: 'POST', path: '/databases', status: 201, handle: createInCollection },
  { method: 'GET', path: '/databases/{database}', handle: readInCollection },
  { method: 'DELETE', path: '/databases/{database}', parameters: [INSTANCE], handle: deleteDatabase },
];

/** Members of a body that may have the name, one per family. Each family accepts both. */
const SCOPED_NAME = 'database_name';
const COLLECTION_NAME = 'name';
const NAME_MEMBERS = [SCOPED_NAME, COLLECTION_NAME];
const COPIES = 'copies';
const CREATE_MEMBERS = [...NAME_MEMBERS, COPIES];

async function createByBody(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const body = readJsonObject(request, CREATE_MEMBERS);
  const database = await create(request, context, { name: requiredName(body, SCOPED_NAME), body });
  return createdReply(database, databaseMetadata(database), `/db/${database.databaseName}/latest`);
}

async function createByPath(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const name = request.param('database');
  const body = readOptionalJsonObject(request, CREATE_MEMBERS);
  const named = body === undefined ? undefined : nameFrom(body);
  if (named !== undefined && named !== name) {
    throw invalidField('database_name', `must be absent or ${quote(name)}, as in the path`, named);
  }
  const database = await create(request, context, { name, body });
  return createdReply(database, databaseMetadata(database), `/db/${database.databaseName}/latest`);
}

async function createInCollection(request: HttpRequest, context: RouteContext): Promise<HttpReply> {
  const body = readJsonObject(request, CREATE_MEMBERS);
  const database = await create(request, context, { name: requiredName(body, COLLECTION_NAME), body });
  return createdReply(database, databaseObject(database), `/databases/${database.databaseName}`);
}

async function create(
  request: HttpRequest,
  { service }: RouteContext,
  { name: databaseName, body }: { readonly name: string; readonly body: JsonObject | undefined },
): Promise<DatabaseDescription> {
  const faults = new Faults();
  const copies = body && readMember(body, [COPIES], { field: '', faults }, copiesFrom);
  faults.throwIfAny('The request is malformed');
  return service.createDatabase({ databaseName, copies, ...request.traced() });
}

function copiesFrom(...[node, place]: Parameters<typeof textFrom>): number | undefined {
  return integerFrom(node, { min: 1, max: COPIES_MAX }, place);
}

function createdReply(database: DatabaseDescription, members: JsonMembers, location: string): HttpReply {
  return jsonReply(201, members, { ...scopeHeaders(database), location });
}

/** Reads a valid name. `field` is the member in the error when the body has none. */
function requiredName(body: JsonObject, field: string): string {
  const name = nameFrom(body);
  if (name === undefined) throw invalidField(field, 'is missing');
  const faults = new Faults();
  parseDatabaseName(name, nameMember(body), faults);
  faults.throwIfAny('The database name is malformed');
  return name;
}

function nameFrom(body: JsonObject): string | undefined {
  const place = { field: nameMember(body), faults: new Faults() };
  const node = member(body, NAME_MEMBERS, place);
  const name = node === undefined ? undefined : textFrom(node, place);
  place.faults.throwIfAny('The request is malformed');
  return name;
}

function nameMember(body: JsonObject): string {
  return spellingIn(body, NAME_MEMBERS);
}

/**
 * Deletes by name, or with `database_id` only that instance. An invalid id, or one in a body, never deletes by name
 * (SPEC-HTTP-R4).
 */
async function deleteDatabase(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  readOptionalJsonObject(request, []);
  const databaseId = request.query().get(INSTANCE);
  const instance = databaseId === undefined ? {} : { databaseId };
  const reply = await service.deleteDatabase({ ...request.write(), ...instance });
  return emptyReply(reply.kind === 'deleted' ? { 'x-database-id': reply.databaseId } : {});
}

function listing(entry: (database: ListedDatabase) => Json): Handler {
  return async (request, { service }) => {
    const all = await service.listDatabases({ signal: request.signal(), ...request.traced() });
    const { shown, next } = pageOfList(request, all, BY_NAME);
    return show(request, {
      body: listBody('databases', shown.map(entry), { last: { next } }),
      headers: nextLink(next),
      describe: () => catalogPage({ databases: shown, next }),
    });
  };
}

const BY_NAME: Naming<ListedDatabase> = {
  nameOf: ({ databaseName }) => databaseName,
  isBehind: ({ databaseName }, after) => databaseName > after,
};

async function readAtRevision(request: HttpRequest, context: RouteContext, at: AskedRevision): Promise<HttpReply> {
  const since = request.query().get(SINCE);
  if (since !== undefined) return changesSince(request, context, { at, since: parseRevision(SINCE, since) });
  const database = await context.service.databaseAt({ ...request.read(), at });
  return show(request, {
    body: objectBody(databaseMetadata(database)),
    headers: scopeHeaders(database),
    describe: () => databasePage(database),
  });
}

async function readInCollection(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const database = await service.databaseAt({ ...request.read(), at: 'latest' });
  const { versions } = await service.listVersions({ ...request.read(), at: database.revision });
  const componentsMax = request.rendering() === undefined ? versions.length : request.listSizes().itemsDefault;
  return show(request, {
    // The list of each kind has those that are left out.
    body: objectBody(singleDatabaseObject(database, versions, componentsMax)),
    headers: scopeHeaders(database),
    describe: () => collectionPage(database),
  });
}
