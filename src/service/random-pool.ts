import type { Random } from '#base';

/** A call of the operating system gives this much as fast as a few bytes. */
const POOL_BYTES = 4096;

/** Random bytes drawn in advance: minting an id is then no call of the operating system. No byte is given twice. */
export class RandomPool implements Random {
  readonly #source: Random;
  #pool: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(source: Random) {
    this.#source = source;
  }

  bytes(count: number): Uint8Array {
    if (count > POOL_BYTES) return this.#source.bytes(count);
    if (this.#at + count > this.#pool.length) {
      this.#pool = this.#source.bytes(POOL_BYTES);
      this.#at = 0;
    }
    this.#at += count;
    return this.#pool.subarray(this.#at - count, this.#at);
  }
}
