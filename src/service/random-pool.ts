/** A source of random bytes for ids, which asks the operating system rarely. */
import type { Random } from '#base';

/** One system call returns this many bytes as fast as a few. */
const POOL_BYTES = 4096;

/** Random bytes drawn in advance, so that creating an id needs no system call. No byte is used twice. */
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
