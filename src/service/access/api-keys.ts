/**
 * Issues, lists, rotates and revokes API keys; #auth judges them. They are in the catalog, so that all nodes know them.
 *
 * A secret is created here and leaves in one reply; the catalog gets only its hash.
 */
import { issueKey } from '#auth';
import { CATALOG_GROUP, compareBytes, DatabaseError, quote, toHex } from '#base';
import type { KeyOutcome } from '#cluster';
import {
  type ApiKey,
  CREATED_BY_LENGTH_MAX,
  Faults,
  faultInKeyName,
  formatGrant,
  KEY_GRANTS_MAX,
  KEY_SECRETS_MAX,
  type KeySecret,
} from '#model';
import type { ServiceContext } from '../context.ts';
import type {
  ApiKeysRequest,
  IssueApiKeyRequest,
  IssuedApiKey,
  NamedKeyRequest,
  RevokeApiKeyRequest,
  RotateApiKeyRequest,
} from './operations.ts';

/** Maximum number of attempts when other changes are concurrent. */
const ATTEMPTS_MAX = 5;
const MS_PER_SECOND = 1_000;
const OVERLAP_SECONDS = 86_400;
const OVERLAP_SECONDS_MAX = 31_536_000;
/** Name of an issuer that is not authenticated. */
export const UNAUTHENTICATED = 'nobody';

export async function issueApiKey(context: ServiceContext, request: IssueApiKeyRequest): Promise<IssuedApiKey> {
  const { clock, random, node } = context;
  const nowMs = clock.nowMs();
  refuseFaults(request, nowMs);
  const { name, grants, expiresAtMs, issuedBy = UNAUTHENTICATED, made } = request;
  const { id, hash, text } = made === undefined ? issueKey((bytes) => random.bytes(bytes)) : { ...made, text: '' };
  const secrets = [{ hash, createdAtMs: nowMs, expiresAtMs: undefined }];
  const key: ApiKey = { id, version: 1, name, grants, createdAtMs: nowMs, createdBy: issuedBy, expiresAtMs, secrets };
  const outcome = await node.keepApiKey(key);
  if (outcome.kind === 'key-kept') return { key, text };
  if (outcome.kind === 'key-unmoved' && outcome.isFull) throw keysFull();
  return issuedBefore(context, request, key);
}

/** Returns the key that an earlier request has issued with the same content. */
async function issuedBefore(
  { node }: ServiceContext,
  request: IssueApiKeyRequest,
  wanted: ApiKey,
): Promise<IssuedApiKey> {
  await node.latest(CATALOG_GROUP);
  const key = node.catalog.apiKey(wanted.id);
  if (key === undefined) throw overtaken();
  if (isKey(key) && contentOf(key) === contentOf(wanted)) return { key, text: '' };
  throw keyExists(wanted.id, 'with another name, other roles, another expiry or another secret');
}

function contentOf({ name, grants, expiresAtMs, secrets: [latest] }: ApiKey): string {
  return JSON.stringify([name, grants.map(formatGrant), expiresAtMs, latest && toHex(latest.hash)]);
}

export async function listApiKeys({ node }: ServiceContext, _request: ApiKeysRequest): Promise<readonly ApiKey[]> {
  await node.latest(CATALOG_GROUP);
  return node.catalog.apiKeys().filter(isKey);
}

export async function findApiKey({ node }: ServiceContext, request: NamedKeyRequest): Promise<ApiKey> {
  const { id } = request;
  await node.latest(CATALOG_GROUP);
  const key = node.catalog.apiKey(id);
  if (key === undefined || !isKey(key)) throw keyNotFound(id);
  return key;
}

export async function rotateApiKey(context: ServiceContext, request: RotateApiKeyRequest): Promise<IssuedApiKey> {
  const { id, overlapSeconds = OVERLAP_SECONDS, hash: made } = request;
  refuseFaultyOverlap(overlapSeconds);
  const { hash, text } =
    made === undefined ? issueKey((bytes) => context.random.bytes(bytes), id) : { hash: made, text: '' };
  const key = await changeApiKey(context, request, (before) => {
    const place = before.secrets.findIndex((secret) => compareBytes(secret.hash, hash) === 0);
    if (place === 0) return before;
    if (place > 0) throw keyExists(id, 'with this secret, which a later one has replaced');
    const nowMs = context.clock.nowMs();
    const kept = before.secrets.flatMap((secret) => lasting(secret, nowMs, overlapSeconds * MS_PER_SECOND));
    const latest = { hash, createdAtMs: nowMs, expiresAtMs: undefined };
    return { ...before, secrets: [latest, ...kept].slice(0, KEY_SECRETS_MAX) };
  });
  return { key, text };
}

/** Stores a changed key; a change that returns the key itself is complete. */
async function changeApiKey(
  context: ServiceContext,
  request: NamedKeyRequest,
  change: (before: ApiKey) => ApiKey,
): Promise<ApiKey> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const before = await findApiKey(context, request);
    const changed = change(before);
    if (changed === before) return before;
    const key = { ...changed, version: before.version + 1 };
    const outcome = await context.node.keepApiKey(key);
    if (outcome.kind === 'key-kept') return key;
  }
  throw overtaken();
}

export async function revokeApiKey(context: ServiceContext, request: RevokeApiKeyRequest): Promise<void> {
  const { node, clock } = context;
  const { id, expiresAtMs } = request;
  if (expiresAtMs !== undefined) {
    const faults = new Faults();
    addExpiryFaults(expiresAtMs, clock.nowMs(), faults);
    faults.throwIfAny('The request is malformed');
    const isLater = ({ expiresAtMs: before = Infinity }: ApiKey): boolean => before > expiresAtMs;
    await changeApiKey(context, request, (before) => (isLater(before) ? { ...before, expiresAtMs } : before));
    return;
  }
  const known = await node.latest(CATALOG_GROUP).then(() => node.catalog.apiKey(id));
  const outcome: KeyOutcome | undefined = known && isKey(known) ? await node.removeApiKey(id) : undefined;
  if (outcome?.kind !== 'key-removed') throw keyNotFound(id);
}

/** Returns the previous secret with its new expiry; undefined when it has expired or ends at once. */
function lasting(secret: KeySecret, nowMs: number, overlapMs: number): readonly KeySecret[] {
  const endsAtMs = Math.min(secret.expiresAtMs ?? Number.POSITIVE_INFINITY, nowMs + overlapMs);
  return endsAtMs <= nowMs ? [] : [{ ...secret, expiresAtMs: endsAtMs }];
}

/** Tokens are stored as API keys of `#model`, but are not keys here. */
function isKey({ token }: ApiKey): boolean {
  return token === undefined;
}

/** `by`: id of the issuer. */
export function addKeyFaults(
  { name, grants }: Pick<ApiKey, 'name' | 'grants'>,
  faults: Faults,
  { what, by }: { readonly what: 'key' | 'token'; readonly by: string },
): void {
  if (by.length > CREATED_BY_LENGTH_MAX) {
    const rule = `must be at most ${CREATED_BY_LENGTH_MAX} characters, which the id of this principal has more of`;
    faults.add('created_by', rule, by.length);
  }
  const nameFault = faultInKeyName(name);
  if (nameFault !== undefined) faults.add('name', nameFault, name);
  if (grants.length === 0) faults.add('roles', `must be at least one; a ${what} without could do nothing`);
  if (grants.length > KEY_GRANTS_MAX) faults.add('roles', `must be at most ${KEY_GRANTS_MAX}`, grants.length);
}

function refuseFaults(request: IssueApiKeyRequest, nowMs: number): void {
  const faults = new Faults();
  const { expiresAtMs, issuedBy: by = UNAUTHENTICATED } = request;
  addKeyFaults(request, faults, { what: 'key', by });
  addExpiryFaults(expiresAtMs, nowMs, faults);
  faults.throwIfAny('The API key is malformed');
}

function addExpiryFaults(expiresAtMs: number | undefined, nowMs: number, faults: Faults): void {
  if (expiresAtMs === undefined || expiresAtMs > nowMs) return;
  faults.add('expires_at', 'must be in the future', new Date(expiresAtMs).toISOString());
}

function refuseFaultyOverlap(seconds: number): void {
  const faults = new Faults();
  if (seconds > OVERLAP_SECONDS_MAX)
    faults.add('overlap_seconds', `must be at most ${OVERLAP_SECONDS_MAX}, a year`, seconds);
  faults.throwIfAny('The request is malformed');
}

function keyNotFound(id: string): DatabaseError {
  const message = `There is no API key ${quote(id)}; it may have been revoked`;
  return new DatabaseError('not_found', message, { details: { reason: 'ApiKeyNotFound' } });
}

function keyExists(id: string, how: string): DatabaseError {
  const message = `API key ${quote(id)} exists ${how}; use another id or secret`;
  return new DatabaseError('already_exists', message, { details: { reason: 'ApiKeyExists' } });
}

function keysFull(): DatabaseError {
  const message = 'There are 1000 API keys, which is the maximum; revoke unused ones';
  return new DatabaseError('too_large', message, { details: { reason: 'TooManyApiKeys' } });
}

function overtaken(): DatabaseError {
  const message = 'The API key was changed concurrently, repeatedly; send again';
  return new DatabaseError('unavailable', message, { details: { reason: 'ApiKeyChanged' } });
}
