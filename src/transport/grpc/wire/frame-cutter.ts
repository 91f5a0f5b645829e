/** Cuts bytes into whole messages in their frames, however they arrive (T2). */
import { FRAME_HEADER_BYTES } from './framing.ts';

export interface CutFrames {
  /** Whole frames in a row, which are not looked at again. */
  readonly frames: Buffer;
  readonly count: number;
}

export class FrameCutter {
  #pieces: Buffer[] = [];
  #byteCount = 0;
  /** Bytes up to the end of the frame that has begun; what is known of it are its first bytes. */
  #neededBytes = FRAME_HEADER_BYTES;

  /** Bytes of the frame that has begun, or of what is known of it. */
  get neededBytes(): number {
    return this.#neededBytes;
  }

  /** The whole frames that there are now; undefined when there is none. */
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

/** Of the frame that begins there, with its header; of one whose header is not whole, the header. */
function lengthAt(bytes: Buffer, at: number): number {
  if (at + FRAME_HEADER_BYTES > bytes.length) return FRAME_HEADER_BYTES;
  return FRAME_HEADER_BYTES + bytes.readUInt32BE(at + 1);
}
