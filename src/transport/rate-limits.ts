/**
 * Rate limits of all transports: the client that a request counts for, its refusal, and requests that were counted
 * before.
 *
 * TM7  A request of a client is counted once, by the first server that receives it, before its body is read. When
 * the MCP endpoint calls the HTTP API, or a node relays, the request carries a proof that only nodes can have.
 *
 * The address of a client is that of its connection. Headers of proxies are not trusted: any client can send them.
 */
import { timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Metrics, RateLimitedProtocol } from '#observability';
import type { RateClient, RateLimiter } from '#service';

/** Name of the header, and of the metadata, with the proof that a request was counted. */
export const COUNTED = 'x-cairn-counted';

export interface RateLimitsParts {
  readonly limiter: RateLimiter;
  readonly metrics: Metrics;
  /** Proof of this process: at least 32 characters that are secret. */
  readonly ownProof: string;
  /** Returns the proof of the nodes of this cluster, which follows their secret; undefined when they share none. */
  readonly clusterProof: () => string | undefined;
}

export interface Caller {
  /** Absent: not authenticated. */
  readonly principal?: Principal | undefined;
  /** Address of the connection; absent when it has closed. */
  readonly address: string | undefined;
}

export interface Counted {
  /** Undefined: the request is allowed. */
  readonly refusal: DatabaseError | undefined;
  /** Headers of the reply about the budget. */
  readonly headers: Readonly<Record<string, string>>;
}

const MS_PER_SECOND = 1_000;

export class RateLimits {
  /** For requests of this node to its own HTTP API. */
  readonly ownProof: string;
  /** For requests relayed to other nodes. */
  readonly clusterProof: () => string | undefined;
  readonly #parts: RateLimitsParts;

  constructor(parts: RateLimitsParts) {
    this.#parts = parts;
    this.ownProof = parts.ownProof;
    this.clusterProof = parts.clusterProof;
  }

  /** Tells whether another server of ours has counted it, by the header of that name. */
  isCounted(proof: string | undefined): boolean {
    if (proof === undefined) return false;
    const given = Buffer.from(proof);
    const proofs = [this.ownProof, this.clusterProof() ?? this.ownProof].map((each) => Buffer.from(each));
    return proofs.some((each) => each.length === given.length && timingSafeEqual(each, given));
  }

  /** Counts a request, or work equal to several. */
  count(caller: Caller, protocol: RateLimitedProtocol, requests = 1): Counted {
    const { limiter, metrics } = this.#parts;
    const client = clientOf(caller);
    const drawn = limiter.draw(client, requests);
    const headers = {
      'x-ratelimit-limit': String(limiter.burst),
      'x-ratelimit-remaining': String(drawn.remaining),
      'x-ratelimit-reset': String(Math.ceil(drawn.fullAtMs / MS_PER_SECOND)),
    };
    if (drawn.isLet) return { refusal: undefined, headers };
    const by = drawn.isShared ? 'shared' : client.kind;
    metrics.counter('cairn_rate_limited_total', { protocol, by }).add();
    return { refusal: refusalOf(client, drawn.retryAfterMs), headers };
  }
}

const NO_PROOF = {};

/** The header for a request that this node has counted and relays. */
export function countedHeader(limits: RateLimits | undefined): Readonly<Record<string, string>> {
  const proof = limits?.clusterProof();
  return proof === undefined ? NO_PROOF : { [COUNTED]: proof };
}

function clientOf({ principal, address }: Caller): RateClient {
  if (principal !== undefined) return { kind: 'principal', id: principal.issuer ?? principal.id };
  return { kind: 'address', id: networkOf(address) };
}

/** IPv4 in the notation of IPv6, as a server on all addresses sees it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The part of an address that a client cannot choose: all of IPv4, and the 64-bit network of IPv6. */
export function networkOf(address = 'unknown'): string {
  const [, mapped] = MAPPED.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [whole = ''] = address.split('%', 1);
  const [head = '', tail] = whole.split('::', 2);
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const left = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: left }, () => '0'), ...last];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** An embedded IPv4 address counts for two groups, and is beyond the 64 bits. */
function groupsOf(part: string): readonly string[] {
  if (part === '') return [];
  return part
    .split(':')
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [Number.parseInt(group, 16).toString(16)]));
}

function refusalOf({ kind }: RateClient, retryAfterMs: number): DatabaseError {
  const who = kind === 'principal' ? 'this principal' : 'this address';
  const message = `There were more requests of ${who} than it may make at this node; wait ${retryAfterMs} ms, and make fewer`;
  return new DatabaseError('rate_limited', message, { details: { reason: 'TooManyRequests', retryAfterMs } });
}
