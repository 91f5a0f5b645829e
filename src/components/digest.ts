/**
 * SHA-256 of bytes that may be long, in turns of the loop: the digest of the web's interface copies what it is given
 * before it begins, which of a component is as much as the component.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Of one turn: less than two milliseconds. */
const TURN_BYTES = 1_048_576;

/** Of all parts, one behind the other. Nobody changes them meanwhile. */
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
