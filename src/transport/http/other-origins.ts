/**
 * Refuses requests that a browser sends for a page of another origin.
 *
 *   TH14 When a browser or a proxy authenticates a request by itself, as with cookies, a page of another origin cannot
 *        write with it, unless the settings name its origin.
 *
 * This does not concern API keys and bearer tokens, which the page would have to know. It does concern passwords (Basic
 * and similar schemes): a browser sends a password that it knows with every request to this origin. Pages of other
 * origins cannot read replies (cors.ts).
 *
 * Without authentication the rule of MCP holds for writes, and its check of `Host` also for reads: a page whose host
 * name resolves to this machine would read like a page of this server.
 *
 * Browsers send forms without a preflight request. Forms are accepted only when the browser confirms that they come
 * from a page of this server, also without authentication. A browser that sends no such header is too old to be
 * trusted, and programs send JSON (ADR 0141).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#auth';
import { DatabaseError, quote } from '#base';
import type { AllowedOrigins, Origins } from '../origins.ts';
import { isRead } from './route.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Schemes of `Authorization` that browsers never send by themselves. */
const BEARER = /^bearer /i;
const SAME = ['same-origin', 'none'];
export const FOREIGN_ORIGIN = 'ForeignOrigin';

/** Undefined when the request is allowed. */
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
  const { route } = routeOptions.config;
  if (method === 'OPTIONS' || route?.isForAnybody === true) return undefined;
  const reads = SAFE.has(method) || (route !== undefined && isRead(route));
  const fault = reads ? origins.hostFaultIn(headers) : origins.faultIn(headers);
  return fault === undefined ? undefined : foreign(fault);
}

/** Refusal of a form; undefined when it is allowed. */
export function refusalOfForm({ headers }: FastifyRequest, allowed: AllowedOrigins): DatabaseError | undefined {
  const from = whereFrom(headers, allowed);
  if (from === 'here') return undefined;
  return foreign(
    from === 'elsewhere'
      ? `A page of ${quote(headers.origin ?? 'another origin')} may not send forms here; name its origin in cors-origins`
      : 'A form must come from a page of this server, by its Origin or Sec-Fetch-Site; send JSON, or accept it',
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
  // HTTP/1.0 requests may have no host; then no origin is known to be our own.
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

/** The host of an origin; undefined for `null` and the schemes of apps. */
function hostOf(origin: string): string | undefined {
  const url = URL.parse(origin);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.host : undefined;
}
