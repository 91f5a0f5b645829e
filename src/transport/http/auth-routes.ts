/** API keys, for administrators, and tokens, for every client. Replies with a secret are not cached. */
import { instantToMs } from '#base';
import {
  type ApiKey,
  countFrom,
  type FaultPlace,
  Faults,
  formatGrant,
  GRANT_RULE,
  type Grant,
  instantFrom,
  isPresent,
  item,
  itemsFrom,
  parseGrant,
  readMember,
  textFrom,
} from '#model';
import type { ApiKeysRequest, IssuedApiKey } from '#service';
import { readJsonObject, readOptionalJsonObject } from './body.ts';
import { NO_STORE } from './caching.ts';
import { type Json, timestamp } from './json-text.ts';
import { emptyReply, type HttpReply, jsonReply } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';

const KEYS = '/api/v1/auth/keys';
const TOKENS = '/api/v1/auth/tokens';
const LIFE = 'expires_in_seconds';
const LIFE_SECONDS_DEFAULT = 900;
const OVERLAP = 'overlap_seconds';

export const AUTH_ROUTES: readonly Route[] = (
  [
    { method: 'GET', path: KEYS, handle: list },
    { method: 'POST', path: KEYS, status: 201, handle: issue },
    { method: 'GET', path: `${KEYS}/{key_id}`, handle: find },
    { method: 'POST', path: `${KEYS}/{key_id}/rotate`, status: 201, handle: rotate },
    { method: 'DELETE', path: `${KEYS}/{key_id}`, handle: revoke },
    { method: 'GET', path: TOKENS, handle: listTokens },
    { method: 'POST', path: TOKENS, status: 201, handle: issueToken },
    { method: 'GET', path: `${TOKENS}/{token_id}`, handle: findToken },
    { method: 'DELETE', path: `${TOKENS}/{token_id}`, handle: revokeToken },
  ] as const
).map((route) => ({ ...route, needsAuthentication: true }));

async function list(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const keys = await service.listApiKeys(asked(request));
  return jsonReply(200, { keys: keys.map(keyMembers) }, NO_STORE);
}

async function find(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const key = await service.findApiKey({ id: request.param('key_id'), ...asked(request) });
  return jsonReply(200, keyMembers(key), NO_STORE);
}

async function issue(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const body = readJsonObject(request, ['name', 'roles', 'expires_at']);
  const faults = new Faults();
  const named = namedFrom(body, faults);
  const expiresAt = readMember(body, ['expires_at'], { field: '', faults }, instantFrom);
  faults.throwIfAny('The API key is malformed');
  const expiresAtMs = expiresAt && instantToMs(expiresAt);
  return issuedReply(await service.issueApiKey({ ...named, expiresAtMs, ...asked(request) }));
}

async function listTokens(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const tokens = await service.listTokens(asked(request));
  return jsonReply(200, { tokens: tokens.map(tokenMembers) }, NO_STORE);
}

async function findToken(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const token = await service.findToken({ id: request.param('token_id'), ...asked(request) });
  return jsonReply(200, tokenMembers(token), NO_STORE);
}

async function issueToken(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const body = readJsonObject(request, ['name', 'roles', LIFE]);
  const faults = new Faults();
  const named = namedFrom(body, faults);
  const lifeSeconds = readMember(body, [LIFE], { field: '', faults }, countFrom) ?? LIFE_SECONDS_DEFAULT;
  faults.throwIfAny('The token is malformed');
  const { key, text } = await service.issueToken({ ...named, lifeSeconds, ...asked(request) });
  const headers = { ...NO_STORE, location: `${TOKENS}/${key.id}` };
  return jsonReply(201, { token: text, ...tokenMembers(key) }, headers);
}

async function revokeToken(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  readOptionalJsonObject(request, []);
  await service.revokeToken({ id: request.param('token_id'), ...asked(request) });
  return emptyReply();
}

function asked(request: HttpRequest): ApiKeysRequest {
  return { signal: request.signal(), ...request.traced() };
}

type Named = Pick<ApiKey, 'name' | 'grants'>;

/** The part that requests for a key and for a token share. */
function namedFrom(body: ReturnType<typeof readJsonObject>, faults: Faults): Named {
  for (const field of ['name', 'roles']) if (!isPresent(body.members.get(field))) faults.add(field, 'is missing');
  const place = { field: '', faults };
  const grants = readMember(body, ['roles'], place, (roles, at) =>
    itemsFrom(roles, at)?.map((node, index) => grantFrom(node, item(at, index))),
  );
  return {
    name: readMember(body, ['name'], place, textFrom) ?? '',
    grants: (grants ?? []).filter((grant) => grant !== undefined),
  };
}

async function rotate(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const body = readOptionalJsonObject(request, [OVERLAP]);
  const faults = new Faults();
  const overlapSeconds = body && readMember(body, [OVERLAP], { field: '', faults }, countFrom);
  faults.throwIfAny('The request is malformed');
  const id = request.param('key_id');
  return issuedReply(await service.rotateApiKey({ id, overlapSeconds, ...asked(request) }));
}

async function revoke(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  readOptionalJsonObject(request, []);
  await service.revokeApiKey({ id: request.param('key_id'), ...asked(request) });
  return emptyReply();
}

function grantFrom(node: Parameters<typeof textFrom>[0], place: FaultPlace): Grant | undefined {
  const text = textFrom(node, place);
  const grant = text === undefined ? undefined : parseGrant(text);
  if (text === undefined || grant !== undefined) return grant;
  return place.faults.add(place.field, GRANT_RULE, text);
}

function issuedReply({ key, text }: IssuedApiKey): HttpReply {
  const headers = { ...NO_STORE, location: `${KEYS}/${key.id}` };
  return jsonReply(201, { key: text, ...keyMembers(key) }, headers);
}

function keyMembers(key: ApiKey): Readonly<Record<string, Json>> {
  const secrets = key.secrets.map(({ createdAtMs, expiresAtMs }) => {
    return { created_at: timestamp(createdAtMs), expires_at: timeIfAny(expiresAtMs) };
  });
  return { ...tokenMembers(key), secrets };
}

/** A token has one secret, as old as the token. */
function tokenMembers({
  id,
  name,
  grants,
  createdAtMs,
  createdBy,
  expiresAtMs,
}: ApiKey): Readonly<Record<string, Json>> {
  return {
    id,
    name,
    roles: grants.map(formatGrant),
    created_at: timestamp(createdAtMs),
    created_by: createdBy,
    expires_at: timeIfAny(expiresAtMs),
  };
}

function timeIfAny(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : timestamp(ms);
}
