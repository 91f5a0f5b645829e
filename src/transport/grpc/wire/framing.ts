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

/** Cuts the arriving bytes into whole messages in their frames (T2). */
export class FrameCutter {
  #pieces: Buffer[] = [];
  #byteCount = 0;
  /** Bytes up to the end of the current frame, of which the first bytes are held. */
  #neededBytes = FRAME_HEADER_BYTES;

  /** Bytes of the current frame, or of its header while that is incomplete. */
  get neededBytes(): number {
    return this.#neededBytes;
  }

  /** Returns the frames that are complete now, consecutive and not parsed again; undefined when there are none. */
  add(piece: Buffer): { readonly frames: Buffer; readonly count: number } | undefined {
    this.#pieces.push(piece);
    this.#byteCount += piece.length;
    if (this.#byteCount < this.#neededBytes) return undefined;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#byteCount);
    let end = 0;
    let count = 0;
    let needed = FRAME_HEADER_BYTES;
    for (;;) {
      needed = frameLength(bytes, end);
      if (end + needed > bytes.length) break;
      end += needed;
      count++;
    }
    const rest = bytes.subarray(end);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#byteCount = rest.length;
    this.#neededBytes = needed;
    return count === 0 ? undefined : { frames: bytes.subarray(0, end), count };
  }
}

/** Length of the frame that begins there with its header; the length of a header when that is incomplete. */
export function frameLength(bytes: Uint8Array, at: number): number {
  if (at + FRAME_HEADER_BYTES > bytes.length) return FRAME_HEADER_BYTES;
  const low = ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0);
  return FRAME_HEADER_BYTES + (bytes[at + 1] ?? 0) * 2 ** 24 + low;
}
