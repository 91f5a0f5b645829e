/**
 * The one budget of a client over all transports: requests a second, and how many at once. A client is the principal
 * that asks, or where nobody says who he is the address that he asks from.
 *
 * Each node counts for itself: what a client has left here says nothing of what it has left elsewhere.
 */
import type { Clock } from '#base';
import { Buckets, type Drawn } from './buckets.ts';

/** Whom a request counts for. */
export interface RateClient {
  readonly kind: 'principal' | 'address';
  readonly id: string;
}

export interface RateLimiterParts {
  readonly perSecond: number;
  readonly burst: number;
  readonly clock: Clock;
  /** Of principals, and as many of addresses. */
  readonly bucketsMax?: number;
}

/**
 * About 8 MB of them. A bucket is kept until it is full again, so that more than this are needed by no fewer than so
 * many requests a second from addresses of their own, times the rate that each of them may have.
 */
export const RATE_BUCKETS_MAX = 65_536;

export class RateLimiter {
  /** Requests that a client may make at once, when it has made none for a while. */
  readonly burst: number;
  readonly #clock: Clock;
  /** Strangers, of whom there may be any number, take no room from those that are known. */
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
