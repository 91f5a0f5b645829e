/**
 * What a successful read at a numeric revision says of keeping it (SPEC-HTTP-R6): for how long, by whom, and under
 * which weak tag.
 */
import { hash } from 'node:crypto';
import { CREDENTIALS, isIdentity } from './identities.ts';
import type { KeptPage } from './kept-pages.ts';
import { type HttpReply, type ReplyScope, scopeHeaders, varying } from './reply.ts';
import type { HttpRequest } from './request.ts';

const KEPT_SECONDS = 60;
const TAG_LENGTH = 27;

/** Over exactly what an answer follows from: texts, numbers and lists of them. */
export function weakTag(inputs: readonly unknown[]): string {
  const digest = hash('sha256', JSON.stringify(inputs), 'base64url');
  return `W/"${digest.slice(0, TAG_LENGTH)}"`;
}

/** `varies`: headers that the answer depends on besides. */
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

/** A private answer is kept by nobody when not all is known that it depends on. */
function lifetime(isPrivate: boolean, inputs: readonly string[] | undefined): string {
  if (isPrivate && inputs === undefined) return 'no-store';
  return `${isPrivate ? 'private' : 'public'}, max-age=${KEPT_SECONDS}`;
}

/** For what nobody is to keep. */
export const NO_STORE = { 'cache-control': 'no-store' } as const;

/** Whether the client wants no answer that somebody has kept (RFC 9111, section 5.2.1.4). */
export function saysNoCache(request: HttpRequest): boolean {
  const directives = request.header('cache-control')?.split(',') ?? [];
  return directives.some((each) => each.trim().toLowerCase() === 'no-cache');
}

/** What `If-None-Match` says of the tag: it is one of those that are named, or any would do. */
export function tagMatch(request: HttpRequest, etag: string): 'named' | 'any' | undefined {
  const header = request.header('if-none-match')?.trim();
  if (header === undefined) return undefined;
  if (header === '*') return 'any';
  // Compared weakly: with or without the mark of a weak one (RFC 9110, section 8.8.3.2).
  const named = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return named.some((each) => opaque(each) === opaque(etag)) ? 'named' : undefined;
}

/** What an answer at a number follows from, beside its request: the instance and its revision, or what it says. */
export type Keeping = 'revision' | 'content';

/**
 * A read at a numeric revision: its answer may be kept, each rendering under a tag of its own. What follows from the
 * revision alone is not read again for whoever has it.
 */
export async function keptRead(request: HttpRequest, keeping: Keeping, read: ReadAtNumber): Promise<HttpReply> {
  const answer = keeping === 'revision' ? await withoutAnswer(request, read) : undefined;
  return answer ?? made(request, keeping, await read.answer());
}

export interface ReadAtNumber {
  readonly scope: () => Promise<ReplyScope>;
  readonly answer: () => Promise<HttpReply> | HttpReply;
}

/** What can be said by the tag alone: that the client has the answer, or what was answered to it before (ADR 0145). */
async function withoutAnswer(request: HttpRequest, read: ReadAtNumber): Promise<HttpReply | undefined> {
  const target = targetOf(request);
  const kept = request.pages().find(target);
  if (kept === undefined && request.header('if-none-match') === undefined) return undefined;
  const scope = scopeHeaders(await read.scope());
  const etag = kept !== undefined && isOf(scope, kept) ? kept.etag : tagOf(request, scope);
  if (tagMatch(request, etag) === 'named') return notModified(request, scope, etag);
  if (kept?.etag !== etag) return undefined;
  await request.awaitRoomToSend(kept.answer.body.length);
  request.pages().sent(target, kept);
  return tagged(request, kept.answer, etag);
}

/** A tag of the same target, instance and revision is the same. */
function isOf(scope: HttpReply['headers'], { answer: { headers } }: KeptPage): boolean {
  return headers['x-database-id'] === scope['x-database-id'] && headers['x-revision'] === scope['x-revision'];
}

function made(request: HttpRequest, keeping: Keeping, answer: HttpReply): HttpReply {
  if (answer.status !== OK) return answer;
  const etag = tagOf(request, answer.headers, keeping === 'content' ? answer.body : undefined);
  if (keeping === 'revision') request.pages().offer(targetOf(request), etag, answer);
  return tagged(request, answer, etag);
}

function tagged(request: HttpRequest, answer: HttpReply, etag: string): HttpReply {
  if (tagMatch(request, etag) !== undefined) return notModified(request, answer.headers, etag);
  return { ...answer, headers: { ...answer.headers, ...cachingHeaders(request, etag, VARIES) } };
}

const OK = 200;
/** Whatever a cache keeps, it keeps for those who ask for the same rendering. */
const VARIES = ['accept'];

function notModified(request: HttpRequest, headers: HttpReply['headers'], etag: string): HttpReply {
  return { status: 304, headers: { ...headers, ...cachingHeaders(request, etag, VARIES) } };
}

/** Of the instance, the revision and the request; the number is raised when the same JSON is written in another way. */
function tagOf(request: HttpRequest, headers: HttpReply['headers'], content?: HttpReply['body']): string {
  const target = `${request.path()}${request.search()}`;
  return weakTag([headers['x-database-id'], headers['x-revision'], renderingOf(request), target, content?.toString()]);
}

function renderingOf(request: HttpRequest): string {
  return request.rendering()?.name ?? 'json/1';
}

/** What is asked for, and in what rendering. */
function targetOf(request: HttpRequest): string {
  return `${renderingOf(request)} ${request.path()}${request.search()}`;
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
