/**
 * What a successful read at a numeric revision says of keeping it (SPEC-HTTP-R6): for how long, by whom, and under
 * which weak tag.
 */
import { createHash } from 'node:crypto';
import type { HttpRequest } from './request.ts';

/** Headers by which somebody may have been recognised: an answer to one is not for others. */
const CREDENTIALS = ['authorization', 'cookie', 'x-api-key'] as const;
const KEPT_SECONDS = 60;
const TAG_LENGTH = 27;

/** Over exactly what an answer follows from: texts, numbers and lists of them. */
export function weakTag(inputs: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(inputs)).digest('base64url');
  return `W/"${digest.slice(0, TAG_LENGTH)}"`;
}

/** `varies`: headers that the answer depends on besides. */
export function cachingHeaders(
  request: HttpRequest,
  etag: string,
  varies: readonly string[] = [],
): Readonly<Record<string, string>> {
  const isPrivate = CREDENTIALS.some((name) => request.header(name) !== undefined);
  const vary = isPrivate ? [...varies, 'Authorization', 'Cookie', 'X-API-Key'] : varies;
  return {
    etag,
    'cache-control': `${isPrivate ? 'private' : 'public'}, max-age=${KEPT_SECONDS}`,
    ...(vary.length > 0 && { vary: vary.join(', ') }),
  };
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

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
