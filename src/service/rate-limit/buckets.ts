/**
 * How much each client has left, by the generic cell rate algorithm: a bucket holds so many requests, each takes one
 * out, and time fills it up at a steady rate. A bucket is two numbers, and nothing runs while nobody asks.
 *
 * GCRA keeps the theoretical arrival time of the next cell, which is here `atMs + spent / rate`: two whole numbers
 * instead of one that must be rounded, so that no request is won or lost by rounding. A clock that is set back takes
 * nothing from anybody, and gives nothing either: no time passes until the next request.
 *
 *   V18  A bucket that is not full is not forgotten, whoever else comes: nobody gets a new one by having it pushed out.
 *        Those for whom there is no room share one.
 */

export interface BucketSizes {
  /** Requests a second, which fill a bucket. */
  readonly perSecond: number;
  /** Requests that a full bucket holds. */
  readonly burst: number;
  /** Buckets at a time. */
  readonly bucketsMax: number;
}

/** What came of a request. */
export interface Drawn {
  readonly isLet: boolean;
  /** Whether it was from the bucket of those for whom there was no room. */
  readonly isShared: boolean;
  /** Whole requests that are left now. */
  readonly remaining: number;
  /** When the bucket is full if nobody asks until then: Unix milliseconds, rounded up. */
  readonly fullAtMs: number;
  /** How long to wait before as much is there; 0 when it was let. */
  readonly retryAfterMs: number;
}

interface Bucket {
  /** Of what was full: in thousandths of a request, which is what a rate of one a second fills in a millisecond. */
  spent: number;
  /** When it had spent so much. */
  atMs: number;
}

const UNITS = 1_000;

/** How many of the oldest are looked at for each one that comes: more than one, so that the full ones go. */
const LOOKED_AT = 2;

export class Buckets {
  readonly #rate: number;
  readonly #capacity: number;
  readonly #bucketsMax: number;
  /** Those that nobody has looked at for longest stand first. */
  readonly #byKey = new Map<string, Bucket>();
  readonly #shared: Bucket = { spent: 0, atMs: 0 };

  constructor({ perSecond, burst, bucketsMax }: BucketSizes) {
    this.#rate = perSecond;
    this.#capacity = burst * UNITS;
    this.#bucketsMax = bucketsMax;
  }

  /** Those that are kept, full ones that nobody has come across among them. */
  get count(): number {
    return this.#byKey.size;
  }

  /** Takes so many requests out of the bucket of this key, or none when there are not as many. */
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

  /** That of a stranger; what is full again tells nothing that a new one would not, and goes. */
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
