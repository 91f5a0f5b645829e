/** Cuts the arriving bytes into whole messages in their frames (T2). */
import { FRAME_HEADER_BYTES } from './framing.ts';

export interface CutFrames {
  /** Consecutive whole frames, which are not parsed again. */
  readonly frames: Buffer;
  readonly count: number;
}

export class FrameCutter {
  #pieces: Buffer[] = [];
  #byteCount = 0;
  /** Bytes up to the end of the current frame, of which the first bytes are held. */
  #neededBytes = FRAME_HEADER_BYTES;

  /** Bytes of the current frame, or of its header while that is incomplete. */
  get neededBytes(): number {
    return this.#neededBytes;
  }

  /** Returns the frames that are complete now; undefined when there are none. */
  add(piece: Buffer): CutFrames | undefined {
    this.#pieces.push(piece);
    this.#byteCount += piece.length;
    if (this.#byteCount < this.#neededBytes) return undefined;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#byteCount);
    let end = 0;
    let count = 0;
    let needed = FRAME_HEADER_BYTES;
    for (;;) {
      needed = lengthAt(bytes, end);
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

/** Length of the frame at `at` with its header; the length of a header when that is incomplete. */
function lengthAt(bytes: Buffer, at: number): number {
  if (at + FRAME_HEADER_BYTES > bytes.length) return FRAME_HEADER_BYTES;
  return FRAME_HEADER_BYTES + bytes.readUInt32BE(at + 1);
}
