/**
 * Narrow ports that pure layers receive from their owner: time, randomness, and two digests that native code computes
 * many times faster.
 */

export interface Clock {
  /** Unix milliseconds, an integer. */
  nowMs(): number;
}

/** Waiting and measuring; tests and the simulation control both. */
export interface Timers {
  /** Runs a function once, after so many milliseconds. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
  /** Resolves after other pending work of the event loop had its turn. */
  turn(): Promise<void>;
  /** A monotonic clock, for measuring durations. */
  monotonicMs(): number;
}

export interface Random {
  bytes(count: number): Uint8Array;
}

/** SHA-256 of the concatenated parts: 32 bytes that the caller owns. */
export type Sha256 = (parts: readonly Uint8Array[]) => Uint8Array;

/** CRC-32 (IEEE 802.3), as `crc32` of this layer computes it; `seed` is the checksum of the preceding bytes. */
export type Crc32 = (bytes: Uint8Array, seed?: number) => number;
