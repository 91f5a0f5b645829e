/**
 * A reply as a value: routes return it, dispatch.ts sends it. No route touches the socket.
 */
import type { Readable } from 'node:stream';
import type { JsonText } from './json-text.ts';

export interface HttpReply {
  readonly status: number;
  /** Lowercase names. Cross-origin headers are added when the reply is sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly body?: string | Buffer;
  /** Instead of a body: sent as it comes. An error of it cuts the connection; it is destroyed when nobody reads. */
  readonly stream?: Readable;
  /** What a redirect resolved, for the metrics. */
  readonly redirect?: RedirectReason;
}

export interface TextReply extends HttpReply {
  readonly body?: string;
}

export type RedirectReason = 'latest' | 'cached' | 'effective_time';

/** The database instance and the revision that a reply was read at; in the headers of every such reply (TH4). */
export interface ReplyScope {
  readonly databaseId: string;
  readonly revision: number;
}

const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

export function jsonReply<Body extends JsonText | Buffer>(
  status: number,
  body: Body,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): HttpReply & { readonly body: Body } {
  return { status, headers, contentType: JSON_CONTENT_TYPE, body };
}

export function textReply(body: string): HttpReply {
  return { status: 200, headers: NO_HEADERS, contentType: 'text/plain; charset=utf-8', body };
}

export function emptyReply(headers: Readonly<Record<string, string>> = NO_HEADERS): HttpReply {
  return { status: 204, headers };
}

/** 307: the method stays. `no-store`, because where it points changes (SPEC-HTTP-R6). */
export function redirectReply(
  redirect: RedirectReason,
  location: string,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  return { status: 307, headers: { ...headers, location, 'cache-control': 'no-store' }, redirect };
}

/** Where the next page is, when there is one. */
export function nextLink(target: string | undefined): Readonly<Record<string, string>> {
  return target === undefined ? NO_HEADERS : { link: `<${target}>; rel="next"` };
}

export function scopeHeaders(scope: ReplyScope): Readonly<Record<string, string>> {
  return { 'x-database-id': scope.databaseId, 'x-revision': String(scope.revision) };
}

/** What an answer depends on according to any of them, as a header of its own. */
export function varying(...headers: readonly HttpReply['headers'][]): HttpReply['headers'] {
  let named = '';
  for (const { vary = '' } of headers) if (vary !== '') named += named === '' ? vary : `, ${vary}`;
  return named === '' ? NO_HEADERS : { vary: named };
}
