/**
 * Frames on a pipe: a length of four bytes, little-endian, and so many bytes.
 *
 * The reader accepts the stream in pieces of any size. Frames have a maximum length: the reader stops at a longer one.
 */
export const FRAME_HEAD_BYTES = 4;

export function frameHead(length: number): Uint8Array {
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  new DataView(head.buffer).setUint32(0, length, true);
  return head;
}

export class FrameReader {
  readonly #bytesMax: number;
  readonly #onFrame: (frame: Uint8Array) => void;
  readonly #head: Uint8Array = new Uint8Array(FRAME_HEAD_BYTES);
  #headBytes = 0;
  #frame: Uint8Array | undefined;
  #frameBytes = 0;

  constructor(bytesMax: number, onFrame: (frame: Uint8Array) => void) {
    this.#bytesMax = bytesMax;
    this.#onFrame = onFrame;
  }

  /** Returns false when a frame is too long. The receiver owns the frames. */
  push(piece: Uint8Array): boolean {
    let at = 0;
    while (at < piece.length) {
      const taken = this.#frame === undefined ? this.#takeHead(piece, at) : this.#takeBody(piece, at, this.#frame);
      if (taken === undefined) return false;
      at += taken;
    }
    return true;
  }

  #takeHead(piece: Uint8Array, at: number): number | undefined {
    const taken = Math.min(FRAME_HEAD_BYTES - this.#headBytes, piece.length - at);
    this.#head.set(piece.subarray(at, at + taken), this.#headBytes);
    this.#headBytes += taken;
    if (this.#headBytes < FRAME_HEAD_BYTES) return taken;
    const length = new DataView(this.#head.buffer).getUint32(0, true);
    if (length > this.#bytesMax) return undefined;
    this.#headBytes = 0;
    this.#frameBytes = 0;
    this.#frame = new Uint8Array(length);
    if (length === 0) this.#finish(this.#frame);
    return taken;
  }

  #takeBody(piece: Uint8Array, at: number, frame: Uint8Array): number {
    const taken = Math.min(frame.length - this.#frameBytes, piece.length - at);
    frame.set(piece.subarray(at, at + taken), this.#frameBytes);
    this.#frameBytes += taken;
    if (this.#frameBytes === frame.length) this.#finish(frame);
    return taken;
  }

  #finish(frame: Uint8Array): void {
    this.#frame = undefined;
    this.#onFrame(frame);
  }
}
