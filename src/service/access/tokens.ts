/**
 * Tokens: credentials that expire within an hour, for agents and other clients with fewer rights than their issuer.
 *
 *   V21  A token has no right that its issuer did not have, expires no later than the credential that it was
 *        issued with and within an hour, and issues no keys or tokens itself (facade/guard.ts). A token of an API key is
 *        valid no longer than the key, and the secret, that it was issued with (#auth, key-extractor.ts).
 */
import { issueKey } from '#auth';
import { CATALOG_GROUP, DatabaseError, quote } from '#base';
import { type ApiKey, Faults, isStillIssued } from '#model';
import type { ServiceContext } from '../context.ts';
import { addKeyFaults, UNAUTHENTICATED } from './api-keys.ts';
import type { IssuedApiKey, IssueTokenRequest, NamedTokenRequest, TokensRequest } from './operations.ts';

const TOKEN_SECONDS_MAX = 3_600;
/**
 * Maximum number of tokens per issuer, so that one issuer cannot use up all slots. Concurrent requests may exceed it by
 * one.
 */
const TOKENS_OF_ISSUER_MAX = 100;

const MS_PER_SECOND = 1_000;
/**
 * Expired tokens are removed when others are issued, a few at a time, because each removal is an entry of the catalog.
 */
const SWEPT_MAX = 4;
/** Tolerance for clock differences: a token that has expired here may be valid on another node. */
const SWEEP_AFTER_MS = 60_000;

export async function issueToken(context: ServiceContext, request: IssueTokenRequest): Promise<IssuedApiKey> {
  const { clock, random, node } = context;
  const nowMs = clock.nowMs();
  const { name, grants, lifeSeconds, issuer } = request;
  refuseFaults(request);
  await node.latest(CATALOG_GROUP);
  const tokens = node.catalog.apiKeys().filter(isToken);
  const by = issuer?.id ?? UNAUTHENTICATED;
  const own = tokens.filter((token) => token.createdBy === by && !isPast(token, nowMs));
  if (own.length >= TOKENS_OF_ISSUER_MAX)
    throw tooMany(`${quote(by)} has ${own.length} tokens, as many as it may have`);
  for (const past of swept(context, tokens, nowMs)) await node.removeApiKey(past.id);
  // Clocks of nodes differ, so the token is not older than the credential it was issued with.
  const issuers = issuer?.keyId === undefined ? [] : (node.catalog.apiKey(issuer.keyId)?.secrets ?? []);
  const createdAtMs = Math.max(nowMs, ...issuers.map((secret) => secret.createdAtMs));
  const { id, hash, text } = issueKey((bytes) => random.bytes(bytes));
  const key: ApiKey = {
    id,
    version: 1,
    name,
    grants,
    createdAtMs,
    createdBy: by,
    expiresAtMs: Math.min(
      nowMs + lifeSeconds * MS_PER_SECOND,
      Math.floor(issuer?.expiresAtMs ?? Number.POSITIVE_INFINITY),
    ),
    token: { keyId: issuer?.keyId },
    secrets: [{ hash, createdAtMs, expiresAtMs: undefined }],
  };
  const outcome = await node.keepApiKey(key);
  if (outcome.kind === 'key-kept') return { key, text };
  throw tooMany('There are as many tokens as there may be, 1000');
}

/** Lists valid tokens, of this issuer or of all. */
export async function listTokens({ node, clock }: ServiceContext, request: TokensRequest): Promise<readonly ApiKey[]> {
  await node.latest(CATALOG_GROUP);
  const nowMs = clock.nowMs();
  const counts = (token: ApiKey): boolean => !isPast(token, nowMs) && !isOrphan(node.catalog, token, nowMs);
  return node.catalog.apiKeys().filter((key) => isToken(key) && isOf(key, request.of) && counts(key));
}

export async function findToken(context: ServiceContext, request: NamedTokenRequest): Promise<ApiKey> {
  const token = (await listTokens(context, request)).find(({ id }) => id === request.id);
  if (token === undefined) throw tokenNotFound(request.id);
  return token;
}

export async function revokeToken(context: ServiceContext, request: NamedTokenRequest): Promise<void> {
  const { id } = await findToken(context, request);
  const outcome = await context.node.removeApiKey(id);
  if (outcome.kind !== 'key-removed') throw tokenNotFound(id);
}

function swept({ node }: ServiceContext, tokens: readonly ApiKey[], nowMs: number): readonly ApiKey[] {
  return tokens
    .filter((token) => isPast(token, nowMs - SWEEP_AFTER_MS) || isOrphan(node.catalog, token, nowMs))
    .slice(0, SWEPT_MAX);
}

function isToken({ token }: ApiKey): boolean {
  return token !== undefined;
}

function isOf({ createdBy }: ApiKey, issuer: string | undefined): boolean {
  return issuer === undefined || createdBy === issuer;
}

function isPast({ expiresAtMs = 0 }: ApiKey, nowMs: number): boolean {
  return expiresAtMs <= nowMs;
}

function isOrphan(catalog: ServiceContext['node']['catalog'], token: ApiKey, nowMs: number): boolean {
  const issuer = token.token?.keyId;
  return issuer !== undefined && !isStillIssued(token, catalog.apiKey(issuer), nowMs);
}

function refuseFaults(request: IssueTokenRequest): void {
  const faults = new Faults();
  const { lifeSeconds, issuer } = request;
  addKeyFaults(request, faults, { what: 'token', by: issuer?.id ?? UNAUTHENTICATED });
  if (lifeSeconds < 1 || lifeSeconds > TOKEN_SECONDS_MAX) {
    faults.add('expires_in_seconds', `must be from 1 to ${TOKEN_SECONDS_MAX}, an hour`, lifeSeconds);
  }
  faults.throwIfAny('The token is malformed');
}

function tokenNotFound(id: string): DatabaseError {
  const message = `There is no token ${quote(id)}; it may have expired`;
  return new DatabaseError('not_found', message, { details: { reason: 'TokenNotFound' } });
}

function tooMany(what: string): DatabaseError {
  const message = `${what}; revoke unused ones, or send again when others have expired`;
  return new DatabaseError('too_large', message, { details: { reason: 'TooManyTokens' } });
}
