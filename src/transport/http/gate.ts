/**
 * Authenticates a request by its head. Without a valid credential the request is refused and its body is not read.
 *
 * Three kinds of requests need no credential: health and probes (`/health`, `/livez`, `/readyz`, `/startupz`), OPTIONS,
 * which browsers send without one, and the files of pages, which the page of a refusal loads. None reveals stored data.
 */
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Span } from '#observability';
import { type Access, authenticating, HeaderLines } from '../access.ts';
import { NO_STORE } from './caching.ts';
import type { AllowedOrigins } from './cors.ts';
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

export class Gate {
  readonly #access: Access;
  readonly #open: RouteContext;
  readonly #principals = new WeakMap<FastifyRequest, Principal>();
  readonly #contexts = new WeakMap<Principal, RouteContext>();

  readonly #origins: AllowedOrigins;

  /** `open`: the context of routes without authentication. */
  constructor(access: Access, open: RouteContext, origins: AllowedOrigins) {
    this.#access = access;
    this.#open = open;
    this.#origins = origins;
  }

  /** Undefined when the request is allowed. `span`: the span of the request. */
  async refusal(request: FastifyRequest, span: Span | undefined): Promise<DatabaseError | undefined> {
    if (isForAnybody(request)) return undefined;
    try {
      const found = this.#access.authenticator.identify(new HeaderLines(request.raw.rawHeaders, HTTP));
      const principal = found instanceof Promise ? await authenticating(found, span) : found;
      this.#principals.set(request, principal);
      return refusalOfOrigin(request, principal, this.#origins);
    } catch (failure) {
      return refusalIn(failure);
    }
  }

  /** Principal of an authenticated request; undefined for routes without authentication. */
  principalOf(request: FastifyRequest): Principal | undefined {
    return this.#principals.get(request);
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

  /** Context of the route, for an authenticated request. */
  contextOf(request: FastifyRequest): RouteContext {
    const principal = this.#principals.get(request);
    if (principal === undefined) return this.#open;
    const known = this.#contexts.get(principal);
    if (known !== undefined) return known;
    const made = { ...this.#open, service: this.#access.serviceOf(principal) };
    this.#contexts.set(principal, made);
    return made;
  }
}

export function isForAnybody({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'OPTIONS' || routeOptions.config.isForAnybody === true;
}

/** An error that is not a refusal is internal, and refuses the request, too. */
function refusalIn(failure: unknown): DatabaseError {
  if (failure instanceof DatabaseError) return failure;
  return new DatabaseError('internal', 'Who asks could not be found out', { cause: failure });
}
