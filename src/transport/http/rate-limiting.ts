/**
 * How often a client may ask, by the head of a request alone (TM7).
 *
 * Not counted: what anybody may ask without a credential, for probes and browsers do, and what another server of ours
 * has counted. Everything else is, the files of Swagger UI too, whatever comes of it.
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

  /** Counts the request; undefined: it may go on. `principal`: undefined when nobody knows who asks. */
  refusal(request: FastifyRequest, principal?: Principal): DatabaseError | undefined {
    if (isFree(request) || this.#limits.isCounted(request.headers[COUNTED]?.toString())) return undefined;
    const address = request.raw.socket.remoteAddress;
    const { refusal, headers } = this.#limits.count({ principal, address }, 'http');
    this.#headers.set(request, headers);
    return refusal;
  }

  /** What the answer to a request that was counted says of it. */
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
