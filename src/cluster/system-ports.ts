/** The ports of pure layers for digests, randomness and time, implemented with Node.js. */
import { createHash, hash as hashOnce, randomBytes } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';
import type { Clock, Crc32, Random, Sha256 } from '#base';

export const nativeCrc32: Crc32 = (bytes, seed) => zlibCrc32(bytes, seed);

const DIGEST_BYTES = 32;
/** Up to this length, joining the parts is cheaper than updating a hash object one by one. */
const JOINED_BYTES_MAX = 4096;
const joined = new Uint8Array(JOINED_BYTES_MAX);

export const nativeSha256: Sha256 = (parts) => {
  let length = 0;
  for (const part of parts) length += part.length;
  return length <= JOINED_BYTES_MAX ? digestJoined(parts) : digestParts(parts);
};

/** A digest as a latin1 text is cheaper to get than one in a Buffer. */
function digestJoined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) {
    joined.set(part, length);
    length += part.length;
  }
  const text = hashOnce('sha256', joined.subarray(0, length), 'binary');
  const digest = new Uint8Array(DIGEST_BYTES);
  for (let at = 0; at < DIGEST_BYTES; at++) digest[at] = text.charCodeAt(at);
  return digest;
}

function digestParts(parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

export const nativeRandom: Random = { bytes: (count) => new Uint8Array(randomBytes(count)) };

export const wallClock: Clock = { nowMs: () => Date.now() };
