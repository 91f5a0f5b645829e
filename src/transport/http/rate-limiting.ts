/**
 * Applies the rate limit to a request, by its head alone (TM7).
 *
 * Routes without authentication are not counted, except the files of Swagger UI, nor are requests that another node or
 * the MCP endpoint has counted. All others are, whatever their outcome.
 */
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#auth';
import type { DatabaseError } from '#base';
import { COUNTED, type RateLimits } from '../rate-limits.ts';
import { isForAnybody } from './gate.ts';
import type { HttpReply } from './reply.ts';

const NO_HEADERS: HttpReply['headers'] = {};

export class RateLimiting {
  readonly #limits: RateLimits;
  readonly #headers = new WeakMap<FastifyRequest, HttpReply['headers']>();

  constructor(limits: RateLimits) {
    this.#limits = limits;
  }

  /** Counts the request and returns its refusal, if any. `principal`: undefined without authentication. */
  refusal(request: FastifyRequest, principal?: Principal): DatabaseError | undefined {
    if (isFree(request) || this.#limits.isCounted(request.headers[COUNTED]?.toString())) return undefined;
    const address = request.raw.socket.remoteAddress;
    const { refusal, headers } = this.#limits.count({ principal, address }, 'http');
    this.#headers.set(request, headers);
    return refusal;
  }

  /** Headers about the rate limit for the reply to a counted request. */
  headersOf(request: FastifyRequest): HttpReply['headers'] {
    return this.#headers.get(request) ?? NO_HEADERS;
  }
}

function isFree(request: FastifyRequest): boolean {
  if (!isForAnybody(request)) return false;
  const { params } = request;
  const { isCounted } = request.routeOptions.config;
  return isCounted === undefined || !isCounted(params);
}
