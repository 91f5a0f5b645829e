/**
 * Token buckets of clients, by the generic cell rate algorithm (GCRA): a bucket holds a number of requests, each
 * request takes one out, and time refills it at a steady rate. A bucket is two numbers and needs no timer.
 *
 * GCRA stores the theoretical arrival time of the next request, here `atMs + spent / rate`: two integers instead of one
 * rounded number, so that rounding never gains or loses a request. When the clock is set back, no time passes until the
 * next request.
 *
 *   V18  A bucket that is not full is never evicted, so a client cannot get a new one by having others evict it.
 *        Clients beyond the maximum share one bucket.
 */

export interface BucketSizes {
  /** Rate at which a bucket refills, in requests per second. */
  readonly perSecond: number;
  /** Capacity of a bucket in requests. */
  readonly burst: number;
  readonly bucketsMax: number;
}

export interface Drawn {
  readonly isLet: boolean;
  /** True when the shared bucket was used. */
  readonly isShared: boolean;
  /** Whole requests that are left. */
  readonly remaining: number;
  /** Time at which the bucket is full again without further requests: Unix milliseconds, rounded up. */
  readonly fullAtMs: number;
  /** Wait until enough requests are available; 0 when the request was allowed. */
  readonly retryAfterMs: number;
}

interface Bucket {
  /**
   * Thousandths of a request taken out of a full bucket; a rate of one per second refills one thousandth per
   * millisecond.
   */
  spent: number;
  /** Time at which `spent` was computed. */
  atMs: number;
}

const UNITS = 1_000;

/** Number of the oldest buckets checked for each new one: more than one, so that full buckets are removed. */
const LOOKED_AT = 2;

export class Buckets {
  readonly #rate: number;
  readonly #capacity: number;
  readonly #bucketsMax: number;
  /** Least recently checked buckets first. */
  readonly #byKey = new Map<string, Bucket>();
  readonly #shared: Bucket = { spent: 0, atMs: 0 };

  constructor({ perSecond, burst, bucketsMax }: BucketSizes) {
    this.#rate = perSecond;
    this.#capacity = burst * UNITS;
    this.#bucketsMax = bucketsMax;
  }

  /** Number of buckets, including full ones that were not removed yet. */
  get count(): number {
    return this.#byKey.size;
  }

  /** Takes requests out of the bucket of this key, or none when it has not enough. */
  draw(key: string, nowMs: number, requests = 1): Drawn {
    const bucket = this.#byKey.get(key) ?? this.#newBucket(key, nowMs);
    this.#fill(bucket, nowMs);
    const spent = bucket.spent + requests * UNITS;
    const isLet = spent <= this.#capacity;
    if (isLet) bucket.spent = spent;
    return {
      isLet,
      isShared: bucket === this.#shared,
      remaining: Math.floor((this.#capacity - bucket.spent) / UNITS),
      fullAtMs: nowMs + Math.ceil(bucket.spent / this.#rate),
      retryAfterMs: isLet ? 0 : Math.ceil((spent - this.#capacity) / this.#rate),
    };
  }

  #fill(bucket: Bucket, nowMs: number): void {
    bucket.spent = this.#spentAt(bucket, nowMs);
    bucket.atMs = nowMs;
  }

  #spentAt({ spent, atMs }: Bucket, nowMs: number): number {
    return Math.max(0, spent - Math.max(0, nowMs - atMs) * this.#rate);
  }

  /** Creates the bucket of a new client. Full buckets are removed, because a new one would be equal. */
  #newBucket(key: string, nowMs: number): Bucket {
    for (let looked = 0; looked < LOOKED_AT; looked++) this.#lookAtOldest(nowMs);
    if (this.#byKey.size >= this.#bucketsMax) return this.#shared;
    const made = { spent: 0, atMs: nowMs };
    this.#byKey.set(key, made);
    return made;
  }

  #lookAtOldest(nowMs: number): void {
    const [oldest] = this.#byKey;
    if (oldest === undefined) return;
    const [key, bucket] = oldest;
    this.#byKey.delete(key);
    if (this.#spentAt(bucket, nowMs) > 0) this.#byKey.set(key, bucket);
  }
}
