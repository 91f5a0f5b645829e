/**
 * Headers of every reply: CORS, so that pages of other origins can call the API, and `nosniff`, so that no browser
 * interprets stored bytes as a script.
 *
 * The specification guarantees two request headers (Content-Type, X-API-Key); the others are those of this API. There
 * is no credentials mode: `*` excludes cookies, and Cairn sets none.
 */

import type { AllowedOrigins } from '../origins.ts';

const CORS_METHODS = 'GET, POST, PUT, DELETE, OPTIONS';

const CORS_REQUEST_HEADERS =
  'Content-Type, X-API-Key, Authorization, Accept, Cache-Control, If-None-Match, x-min-revision, x-batch-id, X-Last-Seen-Revision, mcp-session-id, traceparent, tracestate';

const CORS_EXPOSED_HEADERS =
  'ETag, Link, Location, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, x-effective-time-end-at, x-database-id, x-revision';

type Headers = Readonly<Record<string, string>>;

const ALWAYS: Headers = { 'x-content-type-options': 'nosniff' };

const SHARED: Headers = {
  ...ALWAYS,
  'access-control-allow-methods': CORS_METHODS,
  'access-control-allow-headers': CORS_REQUEST_HEADERS,
  'access-control-expose-headers': CORS_EXPOSED_HEADERS,
};

const ANY_ORIGIN: Headers = { 'access-control-allow-origin': '*', ...SHARED };

/** With a list, the reply depends on the origin. */
const OTHER_ORIGIN: Headers = { ...ALWAYS, vary: 'Origin' };

export function corsHeaders(allowed: AllowedOrigins, origin: string | undefined): Headers {
  if (allowed === '*') return ANY_ORIGIN;
  if (origin === undefined || !allowed.includes(origin)) return OTHER_ORIGIN;
  return { 'access-control-allow-origin': origin, ...SHARED, ...OTHER_ORIGIN };
}
