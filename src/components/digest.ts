/**
 * SHA-256 of large data in slices, with turns of the event loop in between. Web Crypto would first copy the whole
 * component.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Size of one slice: less than two milliseconds. */
const TURN_BYTES = 1_048_576;

/** Digest of all parts in order. They must not change meanwhile. */
export async function sha256(...parts: readonly Uint8Array[]): Promise<Buffer> {
  const hash = createHash('sha256');
  let left = TURN_BYTES;
  for (const part of parts) {
    for (let at = 0; at < part.length; ) {
      if (left === 0) {
        await nextTurn();
        left = TURN_BYTES;
      }
      const piece = part.subarray(at, at + left);
      hash.update(piece);
      at += piece.length;
      left -= piece.length;
    }
  }
  return hash.digest();
}
