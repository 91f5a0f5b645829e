/** A reply as a value: routes return it, server.ts sends it. No route touches the socket. */
import type { Readable } from 'node:stream';
import { type JsonMembers, type JsonText, jsonObject } from './json-text.ts';

export interface HttpReply {
  readonly status: number;
  /** Lowercase names. Headers of CORS are added when the reply is sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly body?: string | Buffer;
  /** Sent instead of a body. Its errors cut the connection. It is destroyed when the client disconnects. */
  readonly stream?: Readable;
  /** The resolved part of a redirect, for metrics. */
  readonly redirect?: RedirectReason;
}

export interface TextReply extends HttpReply {
  readonly body?: string;
}

export type RedirectReason = 'latest' | 'cached' | 'effective_time';

/** Database instance and revision of a read, which its reply has in headers (TH4). */
export interface ReplyScope {
  readonly databaseId: string;
  readonly revision: number;
}

const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';
export const HTML_CONTENT_TYPE = 'text/html; charset=utf-8';

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** `json`: the text, or the members of an object. The body ends with a line break, for terminals. */
export function jsonReply(
  status: number,
  json: JsonText | JsonMembers,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): TextReply {
  const text = typeof json === 'string' ? json : jsonObject(json);
  return { status, headers, contentType: JSON_CONTENT_TYPE, body: `${text}\n` };
}

/** The same for a body that is long, as bytes with their line break. */
export function jsonBytesReply(body: Buffer, headers: HttpReply['headers']): HttpReply {
  return { status: 200, headers, contentType: JSON_CONTENT_TYPE, body };
}

export function textReply(body: string): HttpReply {
  return { status: 200, headers: NO_HEADERS, contentType: 'text/plain; charset=utf-8', body };
}

/** A page that is always HTML. */
export function htmlReply(status: number, body: string, headers: HttpReply['headers']): HttpReply {
  return { status, headers, contentType: HTML_CONTENT_TYPE, body };
}

export function emptyReply(headers: Readonly<Record<string, string>> = NO_HEADERS): HttpReply {
  return { status: 204, headers };
}

/** 307 keeps the method. `no-store`, because the target changes (SPEC-HTTP-R6). */
export function redirectReply(
  redirect: RedirectReason,
  location: string,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  return { status: 307, headers: { ...headers, location, 'cache-control': 'no-store' }, redirect };
}

/** The `Link` to the next page, if there is one. */
export function nextLink(target: string | undefined): Readonly<Record<string, string>> {
  return target === undefined ? NO_HEADERS : { link: `<${target}>; rel="next"` };
}

export function scopeHeaders(scope: ReplyScope): Readonly<Record<string, string>> {
  return { 'x-database-id': scope.databaseId, 'x-revision': String(scope.revision) };
}

export function varying(...headers: readonly HttpReply['headers'][]): HttpReply['headers'] {
  let named = '';
  for (const { vary = '' } of headers) if (vary !== '') named += named === '' ? vary : `, ${vary}`;
  return named === '' ? NO_HEADERS : { vary: named };
}
