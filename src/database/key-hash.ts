/**
 * A 64-bit hash of short byte strings, as two numbers of 32 bits, without allocating anything.
 *
 * It is the key of event ids in their index and of keys in the filter. Collisions are harmless, because every lookup by
 * hash compares the bytes. It never changes and is the same on every replica: event-id rows contain it.
 *
 * Two lanes of xor and multiply over the bytes, crossed and avalanched at the end.
 */
const LANE_1 = 0x9e3779b1;
const LANE_2 = 0x5f356495;
const SEED_1 = 0x243f6a88;
const SEED_2 = 0x85a308d3;
const MIX_1 = 0x85ebca6b;
const MIX_2 = 0xc2b2ae35;

export class KeyHash {
  /** The result, after `finish()`: unsigned 32 bits each. */
  high = 0;
  low = 0;
  readonly #mask: number;

  /** With fewer than 32 bits per lane there are collisions, for tests. */
  constructor(laneBits: number = 32) {
    this.#mask = laneBits === 32 ? -1 : (1 << laneBits) - 1;
  }

  /** Starts a hash; strings of different `domain` do not share hashes. */
  start(domain: number): void {
    this.high = SEED_1 ^ domain;
    this.low = SEED_2 ^ Math.imul(domain, LANE_1);
  }

  add(bytes: Uint8Array, from: number, to: number): void {
    let high = this.high;
    let low = this.low;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] ?? 0;
      high = Math.imul(high ^ byte, LANE_1);
      low = Math.imul(low ^ byte, LANE_2);
      // Multiplication only carries upwards: without this the low bits of a lane would never see its high ones.
      high ^= high >>> 15;
    }
    this.high = high;
    this.low = low;
  }

  /** Ends a part, so that ("ab", "c") and ("a", "bc") differ. */
  separate(): void {
    this.high = Math.imul(this.high ^ 0x100, LANE_1);
    this.low = Math.imul(this.low ^ 0x100, LANE_2);
  }

  finish(): void {
    let high = this.high;
    let low = this.low;
    high = Math.imul(high ^ (high >>> 16), MIX_1) ^ Math.imul(low ^ (low >>> 13), MIX_2);
    low = Math.imul(low ^ (low >>> 16), MIX_1) ^ Math.imul(high ^ (high >>> 13), MIX_2);
    this.high = ((high ^ (high >>> 16)) & this.#mask) >>> 0;
    this.low = ((low ^ (low >>> 16)) & this.#mask) >>> 0;
  }
}

/** Kinds of hashed values; the number separates them. */
export const HASH_DOMAIN = { EVENT_ID: 1, TRANSACTION_ID: 2, HEAD: 3 } as const;
