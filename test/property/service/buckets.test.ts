// Goal: a client gets exactly the number of requests that its rate allows, and no new bucket after the eviction of its
// old one (V18). Method: random requests against a bucket that is refilled every millisecond.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Buckets, type Drawn } from '../../../src/service/rate-limit/buckets.ts';

const START_MS = 1_700_000_000_000;

interface Step {
  /** Time since the previous step. */
  readonly passedMs: number;
  readonly client: number;
  readonly requests: number;
}

const arbStep: fc.Arbitrary<Step> = fc.record({
  passedMs: fc.oneof(fc.nat(3), fc.nat(2_000)),
  client: fc.nat(4),
  requests: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 })),
});

/** The bucket of one client, in thousandths of a request, refilled step by step. */
class NaiveBucket {
  #drops: number;
  #nowMs = START_MS;
  readonly #rate: number;
  readonly #full: number;

  constructor(perSecond: number, burst: number) {
    this.#rate = perSecond;
    this.#full = burst * 1_000;
    this.#drops = this.#full;
  }

  passTo(nowMs: number): void {
    for (; this.#nowMs < nowMs; this.#nowMs++) this.#drops = Math.min(this.#full, this.#drops + this.#rate);
    this.#nowMs = nowMs;
  }

  draw(requests: number): Omit<Drawn, 'isShared'> {
    const isLet = this.#drops >= requests * 1_000;
    if (isLet) this.#drops -= requests * 1_000;
    return {
      isLet,
      remaining: Math.floor(this.#drops / 1_000),
      fullAtMs: this.#nowMs + this.#stepsTo(this.#full),
      retryAfterMs: isLet ? 0 : this.#stepsTo(requests * 1_000),
    };
  }

  #stepsTo(wanted: number): number {
    let steps = 0;
    for (let drops = this.#drops; drops < wanted; drops += this.#rate) steps += 1;
    return steps;
  }
}

describe('SPEC-LIMITS-RATE: a bucket', () => {
  it('allows the same requests as a naively refilled one, separately for each client', () => {
    const sizes = fc.record({ perSecond: fc.integer({ min: 1, max: 50 }), burst: fc.integer({ min: 1, max: 6 }) });
    fc.assert(
      fc.property(sizes, fc.array(arbStep, { maxLength: 60 }), ({ perSecond, burst }, steps) => {
        const buckets = new Buckets({ perSecond, burst, bucketsMax: 100 });
        const naive = Array.from({ length: 5 }, () => new NaiveBucket(perSecond, burst));
        let nowMs = START_MS;
        for (const { passedMs, client, requests } of steps) {
          nowMs += passedMs;
          const own = naive[client];
          own?.passTo(nowMs);
          const { isShared, ...drawn } = buckets.draw(String(client), nowMs, requests);
          expect(drawn).toEqual(own?.draw(requests));
          expect(isShared).toBe(false);
        }
      }),
    );
  });

  it('that is not full is kept, regardless of the number of other clients', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 500 }), (bucketsMax, strangers) => {
        const buckets = new Buckets({ perSecond: 1, burst: 3, bucketsMax });
        for (let n = 0; n < 3; n++) buckets.draw('victim', START_MS);
        for (let n = 0; n < strangers; n++) buckets.draw(`stranger-${n}`, START_MS + n);
        expect(buckets.count).toBeLessThanOrEqual(bucketsMax);
        expect(buckets.draw('victim', START_MS + 999)).toMatchObject({ isLet: false, isShared: false });
      }),
    );
  });

  it('is shared by the clients for which there is no space, until there is space', () => {
    const buckets = new Buckets({ perSecond: 1, burst: 2, bucketsMax: 2 });
    for (const key of ['a', 'b']) expect(buckets.draw(key, START_MS)).toMatchObject({ isLet: true, isShared: false });
    for (const key of ['c', 'd']) expect(buckets.draw(key, START_MS)).toMatchObject({ isLet: true, isShared: true });
    expect(buckets.draw('e', START_MS)).toMatchObject({ isLet: false, isShared: true, retryAfterMs: 1_000 });
    // The buckets of a and b are full again.
    expect(buckets.draw('e', START_MS + 1_000)).toMatchObject({ isLet: true, isShared: false, remaining: 1 });
  });

  it('neither gains nor loses requests when the clock is set back', () => {
    const buckets = new Buckets({ perSecond: 1, burst: 2, bucketsMax: 10 });
    buckets.draw('a', START_MS);
    const backMs = START_MS - 3_600_000;
    expect(buckets.draw('a', backMs)).toMatchObject({ isLet: true, remaining: 0 });
    expect(buckets.draw('a', backMs + 999)).toMatchObject({ isLet: false, retryAfterMs: 1 });
    expect(buckets.draw('a', backMs + 1_000)).toMatchObject({ isLet: true });
  });
});
