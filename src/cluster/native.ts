/**
 * What pure layers ask of the world, given by Node: digests, randomness, time.
 */
import { createHash, randomBytes } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';
import type { Clock, Crc32, Random, Sha256 } from '#base';

export const nativeCrc32: Crc32 = (bytes, seed) => zlibCrc32(bytes, seed);

export const nativeSha256: Sha256 = (parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

export const nativeRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) };

export const wallClock: Clock = { nowMs: () => Date.now() };
