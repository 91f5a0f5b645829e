/**
 * Bytes of many small things that go without a hold of their own, as long as all of them together are few.
 *
 * A hold of a budget waits in queues and may be evicted; what is gone in a moment, as nearly everything is, need not pay
 * for that. What finds no room here takes it from the budget. (TM1)
 */
import { assert } from '#base';

export class Allowance {
  readonly bytesMax: number;
  #used = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Bytes that are had now. */
  get used(): number {
    return this.#used;
  }

  /** The bytes, or undefined when there is no room for them. */
  tryTake(bytes: number): Share | undefined {
    if (this.#used + bytes > this.bytesMax) return undefined;
    this.#used += bytes;
    return new Share(this, bytes);
  }

  /** For the shares alone. */
  giveBack(bytes: number): void {
    this.#used -= bytes;
    assert(this.#used >= 0, 'An allowance is not given back more than was taken', this.#used);
  }
}

/** Bytes that one small thing has. */
export class Share {
  readonly #allowance: Allowance;
  #bytes: number;

  /** For the allowance alone. */
  constructor(allowance: Allowance, bytes: number) {
    this.#allowance = allowance;
    this.#bytes = bytes;
  }

  /** Gives the bytes back; once, however often it is called. */
  release(): void {
    this.#allowance.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}
