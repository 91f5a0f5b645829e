/** Cache headers of a successful read at a numeric revision: lifetime, private or public, weak ETag (SPEC-HTTP-R6). */
import { hash } from 'node:crypto';
import type { AskedRevision } from '#base';
import { CREDENTIALS, isIdentity } from './identities.ts';
import { type HttpReply, scopeHeaders, varying } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

const KEPT_SECONDS = 60;
const TAG_LENGTH = 27;

/** `inputs`: everything that determines the reply, as texts, numbers and lists of them. */
export function weakTag(inputs: readonly unknown[]): string {
  const digest = hash('sha256', JSON.stringify(inputs), 'base64url');
  return `W/"${digest.slice(0, TAG_LENGTH)}"`;
}

/** `varies`: other headers that the reply depends on. */
export function cachingHeaders(
  request: HttpRequest,
  etag: string,
  varies: readonly string[] = [],
): Readonly<Record<string, string>> {
  const identities = request.headerNames().filter(isIdentity);
  const { isRequired, inputs } = request.privacy();
  const hasCredential = CREDENTIALS.some((name) => request.header(name.toLowerCase()) !== undefined);
  const isPrivate = isRequired || hasCredential || identities.length > 0;
  const named = [...CREDENTIALS, ...(inputs ?? [])];
  const others = identities.filter((each) => !named.some((name) => name.toLowerCase() === each)).toSorted();
  const vary = isPrivate ? new Set([...varies, ...named, ...others]) : varies;
  return {
    etag,
    'cache-control': lifetime(isPrivate, inputs),
    ...varying({ vary: [...vary].join(', ') }),
  };
}

/** A private reply is not cached when some of the headers that it depends on are unknown. */
function lifetime(isPrivate: boolean, inputs: readonly string[] | undefined): string {
  if (isPrivate && inputs === undefined) return 'no-store';
  return `${isPrivate ? 'private' : 'public'}, max-age=${KEPT_SECONDS}`;
}

export const NO_STORE = { 'cache-control': 'no-store' } as const;

/** Tells whether the client refuses cached replies (RFC 9111, section 5.2.1.4). */
export function saysNoCache(request: HttpRequest): boolean {
  const directives = request.header('cache-control')?.split(',') ?? [];
  return directives.some((each) => each.trim().toLowerCase() === 'no-cache');
}

/** Tells how `If-None-Match` matches the tag: by its name, or by `*`. */
export function tagMatch(request: HttpRequest, etag: string): 'named' | 'any' | undefined {
  const header = request.header('if-none-match')?.trim();
  if (header === undefined) return undefined;
  if (header === '*') return 'any';
  // Weak comparison (RFC 9110, section 8.8.3.2).
  const named = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return named.some((each) => opaque(each) === opaque(etag)) ? 'named' : undefined;
}

/** Inputs of an ETag besides the request: database instance and revision, or the body. */
export type Keeping = 'revision' | 'content';

/**
 * A read at a numeric revision, with cache headers. Each rendering has an ETag of its own. A reply that depends on the
 * revision alone is not read again for a client that has it.
 */
export function kept(handle: RevisionHandler, keeping: Keeping = 'revision'): RevisionHandler {
  return async (request, context, at) => {
    const known = keeping === 'revision' ? await unchanged(request, context, at) : undefined;
    return known ?? made(request, keeping, await handle(request, context, at));
  };
}

export type RevisionHandler = (
  request: HttpRequest,
  context: RouteContext,
  revision: AskedRevision,
) => Promise<HttpReply> | HttpReply;

/** A reply of 304 without a read when the client names the current tag. */
async function unchanged(
  request: HttpRequest,
  { service }: RouteContext,
  at: AskedRevision,
): Promise<HttpReply | undefined> {
  if (request.header('if-none-match') === undefined) return undefined;
  const scope = scopeHeaders(await service.databaseAt({ ...request.read(), at }));
  const etag = tagOf(request, scope);
  return tagMatch(request, etag) === 'named' ? notModified(request, scope, etag) : undefined;
}

function made(request: HttpRequest, keeping: Keeping, answer: HttpReply): HttpReply {
  if (answer.status !== OK) return answer;
  const etag = tagOf(request, answer.headers, keeping === 'content' ? answer.body : undefined);
  if (tagMatch(request, etag) !== undefined) return notModified(request, answer.headers, etag);
  return { ...answer, headers: { ...answer.headers, ...cachingHeaders(request, etag, VARIES) } };
}

const OK = 200;
/** Caches keep one reply per rendering. */
const VARIES = ['accept'];

function notModified(request: HttpRequest, headers: HttpReply['headers'], etag: string): HttpReply {
  return { status: 304, headers: { ...headers, ...cachingHeaders(request, etag, VARIES) } };
}

/** ETag of instance, revision and request. The number is raised when the same data is written as different JSON. */
function tagOf(request: HttpRequest, headers: HttpReply['headers'], content?: HttpReply['body']): string {
  const rendering = request.rendering()?.name ?? 'json/2';
  const target = `${request.path()}${request.search()}`;
  return weakTag([headers['x-database-id'], headers['x-revision'], rendering, target, content?.toString()]);
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
