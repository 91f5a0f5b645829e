/**
 * Messages in their frames: one byte (0: not compressed), four bytes of length (big-endian), the message.
 *
 * ```
 *  0       1               5               5 + length
 *  +-------+---------------+-------- ... --+
 *  | flag  | length        | message       |
 *  +-------+---------------+-------- ... --+
 * ```
 *
 * A reply of many small messages is framed in one go, and written as a whole (T2).
 */
import { giveBack } from '#base';

export const FRAME_HEADER_BYTES = 5;

/** Piece size of large output: less than the initial window of a stream (RFC 9113, 6.9.2), and so sent at once. */
export const PIECE_BYTES: number = 60 * 1024;

/** Writes the header of a frame, before its message of `length` bytes. */
export function writeFrameHeader(into: Uint8Array, at: number, length: number): void {
  into[at] = 0;
  into[at + 1] = length >>> 24;
  into[at + 2] = length >>> 16;
  into[at + 3] = length >>> 8;
  into[at + 4] = length;
}

/** One message in its frame. */
export function frame(message: Uint8Array): Uint8Array {
  const framed = Buffer.allocUnsafe(FRAME_HEADER_BYTES + message.length);
  writeFrameHeader(framed, 0, message.length);
  framed.set(message, FRAME_HEADER_BYTES);
  return framed;
}

/** Frees sent frames. A Buffer may be a part of Node's pool, or still used by its creator. */
export function giveBackFrames(frames: Uint8Array): void {
  if (!Buffer.isBuffer(frames)) giveBack(frames);
}

/** The same for frames that own their whole buffer, however long it is. */
export function giveBackWhole(frames: Uint8Array): void {
  if (!Buffer.isBuffer(frames)) giveBack(frames, frames.buffer.byteLength);
}
