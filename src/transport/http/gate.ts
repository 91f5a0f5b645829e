/**
 * Authenticates a request by its head, and applies the rate limit (TM7). A refused request's body is not read.
 *
 * Three kinds of requests need no credential: health and probes (`/health`, `/livez`, `/readyz`, `/startupz`), OPTIONS,
 * which browsers send without one, and the files of pages, which the page of a refusal loads. None reveals stored data.
 *
 * They are not counted either, except the files of Swagger UI, nor are requests that another node or the MCP endpoint
 * has counted. All others are, whatever their outcome.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Span } from '#observability';
import { type Access, authenticating, headerLines } from '../access.ts';
import type { AllowedOrigins } from '../origins.ts';
import { COUNTED, type RateLimits } from '../rate-limits.ts';
import { NO_STORE } from './caching.ts';
import type { Held } from './memory.ts';
import { refusalOfOrigin } from './other-origins.ts';
import type { HttpReply } from './reply.ts';
import type { RouteContext } from './route.ts';

const FAILED = 400;
const UNAUTHENTICATED = 401;
const HTML = 'text/html';
/** Values of `Sec-Fetch-Dest` of a page; older browsers do not send the header. */
const WHOLE_PAGE = 'document';
const NO_HEADERS = {};
const HTTP = { mayBeBrowser: true };

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request arrives. */
    entry: Entry;
  }
}

export interface Entry {
  readonly reply: FastifyReply;
  readonly held: Held;
  /** Undefined: it is not traced. */
  readonly span: Span | undefined;
  /** Undefined for routes without authentication. */
  principal?: Principal;
  rateHeaders?: HttpReply['headers'];
}

export class Gate {
  readonly #access: Access;
  readonly #open: RouteContext;
  readonly #contexts = new WeakMap<Principal, RouteContext>();
  readonly #origins: AllowedOrigins;

  /** `open`: the context of routes without authentication. */
  constructor(access: Access, open: RouteContext, origins: AllowedOrigins) {
    this.#access = access;
    this.#open = open;
    this.#origins = origins;
  }

  async refusal(request: FastifyRequest): Promise<DatabaseError | undefined> {
    if (isForAnybody(request)) return undefined;
    try {
      const found = this.#access.authenticator.identify(headerLines(request.raw.rawHeaders, HTTP));
      const principal = found instanceof Promise ? await authenticating(found, request.entry.span) : found;
      request.entry.principal = principal;
      return refusalOfOrigin(request, principal, this.#origins);
    } catch (failure) {
      // An error that is not a refusal is internal, and refuses the request, too.
      if (failure instanceof DatabaseError) return failure;
      return new DatabaseError('internal', 'Who asks could not be found out', { cause: failure });
    }
  }

  /** Replies to authenticated requests are not cached, unless the route adds cache headers (SPEC-HTTP-R6). */
  headersOf(request: FastifyRequest, { status }: HttpReply): HttpReply['headers'] {
    return status >= FAILED || isForAnybody(request) ? NO_HEADERS : NO_STORE;
  }

  /**
   * Adds a Basic challenge to the page of a refusal, so that a browser asks its user for a password. Programs, scripts
   * and frames in pages of others do not get it, although they may accept HTML.
   */
  challengeWith(request: FastifyRequest, { status, headers, contentType = '' }: HttpReply): HttpReply['headers'] {
    const asked = this.#access.authenticator.challengeToBrowsers;
    const others = headers['www-authenticate'];
    const isRefusal = status === UNAUTHENTICATED && others !== undefined;
    if (!isRefusal || asked === undefined || !contentType.startsWith(HTML)) return NO_HEADERS;
    const { 'sec-fetch-dest': shownAs = WHOLE_PAGE } = request.headers;
    if (shownAs !== WHOLE_PAGE) return NO_HEADERS;
    return { 'www-authenticate': `${asked}, ${others}` };
  }

  contextOf({ principal }: Entry): RouteContext {
    if (principal === undefined) return this.#open;
    const known = this.#contexts.get(principal);
    if (known !== undefined) return known;
    const made = { ...this.#open, service: this.#access.serviceOf(principal) };
    this.#contexts.set(principal, made);
    return made;
  }
}

function isForAnybody({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'OPTIONS' || routeOptions.config.route?.isForAnybody === true;
}

export function rateRefusal(limits: RateLimits, request: FastifyRequest): DatabaseError | undefined {
  const { entry } = request;
  const isFree = isForAnybody(request) && request.routeOptions.config.route?.isCounted?.(request.params) !== true;
  if (isFree || limits.isCounted(request.headers[COUNTED]?.toString())) return undefined;
  const address = request.raw.socket.remoteAddress;
  const { refusal, headers } = limits.count({ principal: entry.principal, address }, 'http');
  entry.rateHeaders = headers;
  return refusal;
}
