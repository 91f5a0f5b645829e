/**
 * Messages in frames: one byte (1 = compressed), four bytes of length (big-endian), the message.
 *
 * ```
 *  0       1               5               5 + length
 *  +-------+---------------+-------- ... --+
 *  | flag  | length        | message       |
 *  +-------+---------------+-------- ... --+
 * ```
 *
 * A frame may arrive in any number of pieces, and a piece may hold several frames (T2).
 */

export const FRAME_HEADER_BYTES = 5;

export interface WireMessage {
  readonly bytes: Uint8Array;
  readonly compressed: boolean;
}

/** Why the bytes of a request are not messages. */
export type FramingFault =
  | { readonly kind: 'bad-flag'; readonly flag: number }
  | { readonly kind: 'too-long'; readonly length: number }
  | { readonly kind: 'truncated'; readonly found: number; readonly expected: number };

const NOTHING: Uint8Array = new Uint8Array(0);

/** Cuts a stream of bytes into messages. After a fault it takes nothing more. */
export class Deframer {
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  /** How many bytes it takes to go on: a header, then the whole frame that the header announces. */
  #expected = FRAME_HEADER_BYTES;
  #messages: WireMessage[] = [];
  #fault: FramingFault | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get fault(): FramingFault | undefined {
    return this.#fault;
  }

  /** Takes the next bytes of the stream and keeps views of them. */
  push(piece: Uint8Array): void {
    if (this.#fault !== undefined) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes >= this.#expected) this.#cut();
  }

  /** The whole messages so far, handed over. */
  take(): readonly WireMessage[] {
    const taken = this.#messages;
    this.#messages = [];
    return taken;
  }

  /** Says that no more bytes will come: what is left over is a fault. */
  end(): void {
    if (this.#fault === undefined && this.#pieceBytes > 0) {
      this.#fault = { kind: 'truncated', found: this.#pieceBytes, expected: this.#expected };
    }
  }

  #cut(): void {
    const bytes = this.#pieces.length === 1 ? (this.#pieces[0] ?? NOTHING) : Buffer.concat(this.#pieces);
    let at = 0;
    this.#expected = FRAME_HEADER_BYTES;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const length = readLength(bytes, at);
      this.#fault = this.#faultOf(bytes[at] ?? 0, length);
      if (this.#fault !== undefined) return;
      const next = at + FRAME_HEADER_BYTES + length;
      if (next > bytes.length) {
        this.#expected = FRAME_HEADER_BYTES + length;
        break;
      }
      this.#messages.push({ bytes: bytes.subarray(at + FRAME_HEADER_BYTES, next), compressed: bytes[at] === 1 });
      at = next;
    }
    this.#pieceBytes = bytes.length - at;
    this.#pieces = this.#pieceBytes === 0 ? [] : [bytes.subarray(at)];
  }

  #faultOf(flag: number, length: number): FramingFault | undefined {
    if (flag > 1) return { kind: 'bad-flag', flag };
    if (length > this.#bytesMax) return { kind: 'too-long', length };
    return undefined;
  }
}

/** Writes the header of a frame whose message of `length` bytes follows it. */
export function writeFrameHeader(into: Uint8Array, at: number, length: number, compressed: boolean = false): void {
  into[at] = compressed ? 1 : 0;
  into[at + 1] = length >>> 24;
  into[at + 2] = length >>> 16;
  into[at + 3] = length >>> 8;
  into[at + 4] = length;
}

/** One message in its frame. */
export function frame(message: Uint8Array, compressed: boolean = false): Uint8Array {
  const framed = Buffer.allocUnsafe(FRAME_HEADER_BYTES + message.length);
  writeFrameHeader(framed, 0, message.length, compressed);
  framed.set(message, FRAME_HEADER_BYTES);
  return framed;
}

function readLength(bytes: Uint8Array, at: number): number {
  const high = (bytes[at + 1] ?? 0) * 0x1000000;
  return high + (((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0));
}
