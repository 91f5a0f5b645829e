/**
 * Walks the frames of a request as its pieces arrive, and finds the first invalid one.
 *
 * ```
 *   between ── flag, four bytes of length ──> inside ── so many bytes ──> between
 *      └── the end, after one message ──> fine        └── the end ──> cut
 * ```
 */
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
    if (this.#prefix > 0) return { kind: 'cut-prefix', received: this.#prefix };
    if (this.#left > 0) return { kind: 'cut-message', received: this.#length - this.#left, bytes: this.#length };
    return this.#count > 0 || this.#rules.isStream ? undefined : { kind: 'no-message' };
  }

  /** The first byte of a frame: the compression flag. */
  #begin(flag: number): FrameFault | undefined {
    const { isStream, encoding } = this.#rules;
    if (this.#count > 0 && !isStream) return { kind: 'second-message', firstBytes: this.#length };
    if (flag > 1) return { kind: 'flag', value: flag };
    if (flag === 1 && !isPacking(encoding)) {
      const isNone = encoding === undefined || encoding === 'identity';
      return isNone ? { kind: 'not-encoded', encoding } : { kind: 'unknown-encoding', encoding };
    }
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
    if (this.#length > bytesMax) return { kind: 'too-long', bytes: this.#length, bytesMax };
    this.#prefix = 0;
    this.#left = this.#length;
    return undefined;
  }
}
