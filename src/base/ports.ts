/**
 * What a pure layer may ask of the world, each a narrow port that its owner passes in: the time, randomness, and the
 * two digests that native code computes many times faster.
 */

export interface Clock {
  /** Unix milliseconds, an integer. */
  nowMs(): number;
}

export interface Random {
  bytes(count: number): Uint8Array;
}

/** SHA-256 of the parts, one after the other: 32 bytes of the caller's own. */
export type Sha256 = (parts: readonly Uint8Array[]) => Uint8Array;

/** CRC-32 (IEEE 802.3), as `crc32` of this layer computes it; `seed` is the checksum of what comes before. */
export type Crc32 = (bytes: Uint8Array, seed?: number) => number;
