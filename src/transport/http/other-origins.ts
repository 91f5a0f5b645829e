/**
 * Requests that a page of another origin has a browser send.
 *
 *   TH14 Where a browser or what stands before the server says by itself who asks, as cookies and proxies do, no page of
 *        another origin has that somebody write: unless the settings name its origin.
 *
 * A key or a bearer token is no such thing: a page of another origin has to know it. A password is (Basic, and whatever
 * other scheme there may be): a browser that was told it once sends it with all that any page has it ask here. What is
 * only read stays with the browser (cors.ts).
 *
 * Where requests are not authenticated, the rule of MCP holds for writes, and its check of `Host` for reads
 * as well: a page whose name resolves to this machine would read as a page of this server.
 *
 * Any page can send forms without a preflight. The node accepts only those of its own pages, also without
 * authentication, and only when the browser states the origin: a browser that does not is too old, and programs send
 * JSON (ADR 0141).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#auth';
import { DatabaseError, quote } from '#base';
import type { Origins } from '../origins.ts';
import type { AllowedOrigins } from './cors.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Of `Authorization`, what nobody but the code of a page sends. */
const BEARER = /^bearer /i;
const SAME = ['same-origin', 'none'];
/** Of every such refusal. */
export const FOREIGN_ORIGIN = 'ForeignOrigin';

/** Undefined: it may go on. */
export function refusalOfOrigin(
  { method, headers }: FastifyRequest,
  principal: Principal,
  allowed: AllowedOrigins,
): DatabaseError | undefined {
  if (SAFE.has(method)) return undefined;
  if (isSentOnPurpose(principal)) return undefined;
  if (whereFrom(headers, allowed) !== 'elsewhere') return undefined;
  return foreign(
    `A page of ${quote(headers.origin ?? 'another origin')} may not write here as who the browser says you are; name its origin in cors-origins`,
  );
}

/** Error for an unauthenticated request of a foreign origin or host; undefined when the request is allowed. */
export function refusalOfStranger(
  { method, headers, routeOptions }: FastifyRequest,
  origins: Origins,
): DatabaseError | undefined {
  const { isForAnybody, isRead } = routeOptions.config;
  if (method === 'OPTIONS' || isForAnybody === true) return undefined;
  const reads = SAFE.has(method) || isRead === true;
  const fault = reads ? origins.hostFaultIn(headers) : origins.faultIn(headers);
  return fault === undefined ? undefined : foreign(fault);
}

/** Of a form. Undefined: it may go on. */
export function refusalOfForm({ headers }: FastifyRequest, allowed: AllowedOrigins): DatabaseError | undefined {
  const from = whereFrom(headers, allowed);
  if (from === 'here') return undefined;
  return foreign(
    from === 'elsewhere'
      ? `A page of ${quote(headers.origin ?? 'another origin')} may not send forms here; name its origin in cors-origins`
      : 'A form must come from a page of this server, which Origin or Sec-Fetch-Site says; send JSON, or accept it',
  );
}

function whereFrom(
  { origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders,
  allowed: AllowedOrigins,
): 'here' | 'elsewhere' | 'unsaid' {
  if (origin !== undefined && allowed !== '*' && allowed.includes(origin)) return 'here';
  if (typeof site === 'string') return SAME.includes(site) ? 'here' : 'elsewhere';
  if (origin === undefined) return 'unsaid';
  const named = hostOf(origin);
  // A request of HTTP/1.0 may name no host: then nothing is known to be of here.
  return named !== undefined && named === host ? 'here' : 'elsewhere';
}

function foreign(message: string): DatabaseError {
  return new DatabaseError('permission_denied', message, { details: { reason: FOREIGN_ORIGIN } });
}

function isSentOnPurpose({ proof, isOfBrowser = false }: Principal): boolean {
  if (isOfBrowser) return false;
  const headers = Object.entries(proof()).map(([name, value]) => [name.toLowerCase(), value] as const);
  return headers.some(([name, value]) => name === 'x-api-key' || (name === 'authorization' && BEARER.test(value)));
}

/** Of what is no URL of the web, such as `null` and what apps call their own pages: none. */
function hostOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.host : undefined;
}
