/**
 * Who asks, before anything of a request is looked at but its head: without a valid credential it is refused, whatever
 * it asks for, and its body is not read.
 *
 * Three things are answered to anybody: whether the process is there, and ready (`/health`, `/livez`, `/readyz`,
 * `/startupz`), because whoever probes has no credential, what OPTIONS says of a path, because browsers ask that
 * without one, and what pages load, because the page of a refusal does. None says what is stored.
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
/** Of `Sec-Fetch-Dest`; older browsers do not say what they ask for. */
const WHOLE_PAGE = 'document';
const NO_HEADERS = {};
const HTTP = { mayBeBrowser: true };

export class Gate {
  readonly #access: Access;
  readonly #open: RouteContext;
  readonly #principals = new WeakMap<FastifyRequest, Principal>();
  readonly #contexts = new WeakMap<Principal, RouteContext>();

  readonly #origins: AllowedOrigins;

  /** `open`: the context of routes that anybody may ask. */
  constructor(access: Access, open: RouteContext, origins: AllowedOrigins) {
    this.#access = access;
    this.#open = open;
    this.#origins = origins;
  }

  /** Goes on at once where it can; with an error: the request is refused. `span`: that of the request. */
  pass(request: FastifyRequest, span: Span | undefined, goOn: (refusal?: DatabaseError) => void): void {
    if (isForAnybody(request)) return goOn();
    let refusal: DatabaseError | undefined;
    try {
      const found = this.#access.authenticator.identify(new HeaderLines(request.raw.rawHeaders, HTTP));
      if (found instanceof Promise) return void this.#later(request, authenticating(found, span), goOn);
      refusal = this.#let(request, found);
    } catch (failure) {
      refusal = refusalIn(failure);
    }
    goOn(refusal);
  }

  /** Undefined: it may go on. */
  #let(request: FastifyRequest, principal: Principal): DatabaseError | undefined {
    this.#principals.set(request, principal);
    return refusalOfOrigin(request, principal, this.#origins);
  }

  /** Of a request that has passed; undefined where anybody may ask. */
  principalOf(request: FastifyRequest): Principal | undefined {
    return this.#principals.get(request);
  }

  /** Of an answer that says nothing of keeping it: it is for who has asked. Errors never do (SPEC-HTTP-R6). */
  headersOf(request: FastifyRequest, { status }: HttpReply): HttpReply['headers'] {
    return status >= FAILED || isForAnybody(request) ? NO_HEADERS : NO_STORE;
  }

  /**
   * What has a browser ask its user, before what programs are told: of the page that says to a person that a credential
   * is needed. Programs ask for something else, and no browser has a prompt for what a script has sent, or a frame in a
   * page of others, who may ask for HTML as well.
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

  /** What the route of a request that has passed works with. */
  contextOf(request: FastifyRequest): RouteContext {
    const principal = this.#principals.get(request);
    if (principal === undefined) return this.#open;
    const known = this.#contexts.get(principal);
    if (known !== undefined) return known;
    const made = { ...this.#open, service: this.#access.serviceOf(principal) };
    this.#contexts.set(principal, made);
    return made;
  }

  async #later(
    request: FastifyRequest,
    found: Promise<Principal>,
    goOn: (refusal?: DatabaseError) => void,
  ): Promise<void> {
    let refusal: DatabaseError | undefined;
    try {
      refusal = this.#let(request, await found);
    } catch (failure) {
      refusal = refusalIn(failure);
    }
    goOn(refusal);
  }
}

export function isForAnybody({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'OPTIONS' || routeOptions.config.isForAnybody === true;
}

/** What is no refusal is a fault of ours, and lets nobody in either. */
function refusalIn(failure: unknown): DatabaseError {
  if (failure instanceof DatabaseError) return failure;
  return new DatabaseError('internal', 'Who asks could not be found out', { cause: failure });
}
