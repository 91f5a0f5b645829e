/**
 * The rate limit of a client over all transports: requests per second, and a burst. A client is a principal, or an
 * address when requests are not authenticated.
 *
 * Each node counts for itself, independent of other nodes.
 */
import type { Clock } from '#base';
import { Buckets, type Drawn } from './buckets.ts';

export interface RateClient {
  readonly kind: 'principal' | 'address';
  readonly id: string;
}

export interface RateLimiterParts {
  readonly perSecond: number;
  readonly burst: number;
  readonly clock: Clock;
  /** Maximum number of buckets of principals, and the same number of addresses. */
  readonly bucketsMax?: number;
}

/**
 * About 8 MB of buckets. A bucket is kept until it is full, so exceeding the maximum takes as many addresses, each
 * sending requests at its rate.
 */
export const RATE_BUCKETS_MAX = 65_536;

export class RateLimiter {
  /** Requests that a client may make at once after a pause. */
  readonly burst: number;
  readonly #clock: Clock;
  /** Separate buckets by kind, so that any number of unknown addresses takes no room from principals. */
  readonly #buckets: Readonly<Record<RateClient['kind'], Buckets>>;

  constructor({ perSecond, burst, clock, bucketsMax = RATE_BUCKETS_MAX }: RateLimiterParts) {
    const sizes = { perSecond, burst, bucketsMax };
    this.burst = burst;
    this.#clock = clock;
    this.#buckets = { principal: new Buckets(sizes), address: new Buckets(sizes) };
  }

  draw({ kind, id }: RateClient, requests?: number): Drawn {
    return this.#buckets[kind].draw(id, this.#clock.nowMs(), requests);
  }
}
