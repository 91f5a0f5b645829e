/**
 * Walks the frames of a request as its pieces arrive, and finds the first invalid one.
 *
 * ```
 *   between ── flag, four bytes of length ──> inside ── so many bytes ──> between
 *      └── the end, after one message ──> fine        └── the end ──> cut
 * ```
 */
import { quote } from '#base';
import { type FrameFault, isPacking } from './frame-faults.ts';
import { FRAME_HEADER_BYTES } from './framing.ts';

export interface FrameRules {
  /** Maximum length of a message, as its prefix announces it. */
  readonly bytesMax: number;
  /** False: exactly one message is allowed. */
  readonly isStream: boolean;
  /** The header `grpc-encoding`. */
  readonly encoding: string | undefined;
}

export class FrameWalk {
  readonly #rules: FrameRules;
  /** Number of messages that have begun. */
  #count = 0;
  /** Received bytes of an incomplete prefix. */
  #prefix = 0;
  #flag = 0;
  #length = 0;
  /** Remaining bytes of the message. */
  #left = 0;

  constructor(rules: FrameRules) {
    this.#rules = rules;
  }

  /** True when the last message is compressed. */
  get isPacked(): boolean {
    return this.#flag === 1;
  }

  /** Takes the next bytes, and returns the first fault in them. It must not be called after a fault. */
  take(piece: Uint8Array): FrameFault | undefined {
    let at = 0;
    while (at < piece.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, piece.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      const fault = this.#prefix === 0 ? this.#begin(piece[at] ?? 0) : this.#measure(piece[at] ?? 0);
      if (fault !== undefined) return fault;
      at += 1;
    }
    return undefined;
  }

  /** The request has ended. */
  end(): FrameFault | undefined {
    if (this.#prefix > 0) {
      return {
        what: `The request ends ${this.#prefix} bytes into the five that stand before a message; send it whole`,
      };
    }
    if (this.#left > 0) {
      const where = `${this.#length - this.#left} bytes into a message of ${this.#length} bytes by its prefix`;
      return { what: `The request ends ${where}; send it whole` };
    }
    if (this.#count > 0 || this.#rules.isStream) return undefined;
    const what =
      'The method takes one message, and the request has ended without one; one without fields is five bytes of 0';
    return { what, as: 'UNIMPLEMENTED' };
  }

  /** The first byte of a frame: the compression flag. */
  #begin(flag: number): FrameFault | undefined {
    const { isStream, encoding } = this.#rules;
    if (this.#count > 0 && !isStream) {
      const found = `a second one begins behind the first of ${this.#length} bytes`;
      const what = `The method takes one message, and ${found}; send one, and end the request`;
      return { what, as: 'UNIMPLEMENTED' };
    }
    if (flag > 1) {
      return { what: `The first byte of a message must be 0, or 1 when it is compressed; found ${flag}` };
    }
    if (flag === 1 && !isPacking(encoding)) return encodingFault(encoding);
    this.#count += 1;
    this.#prefix = 1;
    this.#flag = flag;
    this.#length = 0;
    return undefined;
  }

  /** A byte of the length, which has four. */
  #measure(byte: number): FrameFault | undefined {
    this.#length = this.#length * 0x100 + byte;
    this.#prefix += 1;
    if (this.#prefix < FRAME_HEADER_BYTES) return undefined;
    const { bytesMax } = this.#rules;
    if (this.#length > bytesMax) {
      const what = `The message has ${this.#length} bytes by its prefix; it may have at most ${bytesMax}`;
      return { what, code: 'too_large' };
    }
    this.#prefix = 0;
    this.#left = this.#length;
    return undefined;
  }
}

/** A message is compressed, and the header does not say how, or names a compression that is not supported. */
function encodingFault(encoding: string | undefined): FrameFault {
  if (encoding !== undefined && encoding !== 'identity') {
    const what = { name: 'grpc-encoding', rule: 'must be identity, deflate or gzip', value: encoding };
    return { what, as: 'UNIMPLEMENTED', trailers: { 'grpc-accept-encoding': 'identity,deflate,gzip' } };
  }
  const found = encoding === undefined ? 'is absent' : `is ${quote(encoding)}`;
  const what = `The first byte of the message is 1, for compressed, and grpc-encoding ${found}`;
  return { what: `${what}; it must be gzip or deflate, or the first byte 0`, as: 'INTERNAL' };
}
