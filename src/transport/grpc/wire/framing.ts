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
 * grpc-js frames one message a write. A reply of many small messages is framed here instead, and handed over as if it
 * were one message (T2).
 */
import { giveBack } from '#base';

export const FRAME_HEADER_BYTES = 5;

/** Of what is large: less than streams are granted at first (RFC 9113, 6.9.2), and so taken at once. */
export const PIECE_BYTES: number = 60 * 1024;

const NOTHING = new Uint8Array(0);

/** Writes the header of a frame whose message of `length` bytes follows it. */
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

/**
 * What a serialiser of grpc-js returns for bytes that are framed already. grpc-js reserves five bytes for a header,
 * then asks the message to copy itself behind them; this one copies all its frames over the header as well.
 */
function serialised(frames: Uint8Array, onCopied: (target: Uint8Array) => void): Buffer {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  const message = bytes.subarray(FRAME_HEADER_BYTES);
  message.copy = (target: Uint8Array, targetStart: number = FRAME_HEADER_BYTES): number => {
    const count = bytes.copy(target, targetStart - FRAME_HEADER_BYTES);
    onCopied(target);
    return count;
  };
  return message;
}

/**
 * Frames that nobody looks at after they are sent, or a piece of them, and what becomes of their memory.
 *
 * ```
 *  frames ── serialised ──> copy of grpc-js ── left ──> the connection
 *         given back: frames          given back: the copy
 * ```
 * Of pieces each is copied when the one before has left, and the frames are given back with the last of them.
 *
 * It is given back at once and not with the next collection, because V8 collects everything whenever 64 MiB of buffers
 * have gone by, which a scan makes in an instant (ADR 0016). Only buffers that hold nothing else are: frames that are a
 * plain array, and a copy that is not a part of Node's pool.
 */
export class OutgoingFrames {
  readonly #frames: Uint8Array;
  /** Nobody looks at it any more once this is copied. */
  readonly #done: Uint8Array;
  #copy: Uint8Array | undefined;

  /** Of a piece that is not the last: nothing is done with. */
  constructor(frames: Uint8Array, done: Uint8Array = frames) {
    this.#frames = frames;
    this.#done = done;
  }

  /** The frames in pieces of about the same size, at most so many bytes each: cut wherever it comes. */
  static inPieces(frames: Uint8Array, bytesMax: number): readonly OutgoingFrames[] {
    const count = Math.ceil(frames.length / bytesMax);
    if (count <= 1) return [new OutgoingFrames(frames)];
    const bytes = Math.ceil(frames.length / count);
    return Array.from({ length: count }, (_, n) => {
      const piece = frames.subarray(n * bytes, (n + 1) * bytes);
      return new OutgoingFrames(piece, n === count - 1 ? frames : NOTHING);
    });
  }

  /** For grpc-js, once. */
  serialised(): Buffer {
    return serialised(this.#frames, (target) => {
      this.#copy = target;
      giveBackFrames(this.#done);
    });
  }

  /**
   * Call it when the write has succeeded, and only then: node:http2 says so after the socket has taken the last byte. A
   * write that failed may still be looked at by the connection.
   */
  left(): void {
    const copy = this.#copy;
    this.#copy = undefined;
    if (copy !== undefined) giveBack(copy);
  }
}

/** A Buffer may be a part of Node's pool, or of something that its maker still looks at. */
export function giveBackFrames(frames: Uint8Array): void {
  if (!Buffer.isBuffer(frames)) giveBack(frames);
}
