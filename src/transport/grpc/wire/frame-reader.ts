/**
 * Reads the messages of a request from its pieces (T2), and finds the first invalid frame.
 *
 * ```
 *   between ── flag, four bytes of length ──> inside ── so many bytes ──> between: the message is complete
 *      └── the end, after one message ──> fine        └── the end ──> cut
 * ```
 */
import { quote } from '#base';
import { GatheredBytes } from '../../gathered-bytes.ts';
import { FRAME_HEADER_BYTES } from './framing.ts';
import type { GrpcStatusName } from './status.ts';

/** A fault of a request before its message is read: of its headers or its frames. */
export interface FrameFault {
  /** The header with the rule that it breaks, or the whole message. */
  readonly what: HeaderFault | string;
  /** Default: `invalid_argument`. */
  readonly code?: 'invalid_argument' | 'too_large' | 'unimplemented';
  /** Replaces the status of the code, where the documents of gRPC name another one. */
  readonly as?: GrpcStatusName;
  readonly trailers?: Readonly<Record<string, string>>;
  /** Not a request of gRPC: it is answered in plain HTTP, too. */
  readonly isForeign?: boolean;
  /** The connection ends. */
  readonly isFlood?: boolean;
}

interface HeaderFault {
  readonly name: string;
  readonly rule: string;
  readonly value: string | undefined;
}

export type Packing = 'gzip' | 'deflate';

export function isPacking(encoding: string | undefined): encoding is Packing {
  return encoding === 'gzip' || encoding === 'deflate';
}

export interface FrameRules {
  /** Maximum length of a message, as its prefix announces it. */
  readonly bytesMax: number;
  /** False: exactly one message is allowed. */
  readonly isStream: boolean;
}

/** Receives each complete message, a view of its frame. */
export interface MessageListener {
  take(message: Uint8Array, isPacked: boolean): void;
}

/** Buffers up to this size are parts of Node's pool. */
const SMALL_BYTES = 4096;

export class FrameReader {
  readonly #rules: FrameRules;
  readonly #encoding: string | undefined;
  readonly #listener: MessageListener;
  /** Number of messages that have begun. */
  #count = 0;
  /** Received bytes of the prefix of the current frame. */
  #prefix = 0;
  #flag = 0;
  #length = 0;
  /** Remaining bytes of the message. */
  #left = 0;
  /** The first bytes of the current frame, and all of them once they are in several pieces. */
  #first: Buffer | undefined;
  #gathered: GatheredBytes | undefined;

  constructor(rules: FrameRules, encoding: string | undefined, listener: MessageListener) {
    this.#rules = rules;
    this.#encoding = encoding;
    this.#listener = listener;
  }

  /** Takes the next bytes, and returns the first fault in them. It must not be called after a fault. */
  take(piece: Buffer): FrameFault | undefined {
    for (let at = 0; at < piece.length; ) {
      const start = at;
      for (; this.#prefix < FRAME_HEADER_BYTES && at < piece.length; at++) {
        const fault = this.#prefix === 0 ? this.#begin(piece[at] ?? 0) : this.#measure(piece[at] ?? 0);
        if (fault !== undefined) return fault;
      }
      const taken = Math.min(this.#left, piece.length - at);
      this.#left -= taken;
      at += taken;
      this.#gather(start === 0 && at === piece.length ? piece : piece.subarray(start, at));
      if (this.#prefix === FRAME_HEADER_BYTES && this.#left === 0) this.#finish();
    }
    return undefined;
  }

  /** The request has ended. */
  end(): FrameFault | undefined {
    if (this.#prefix === FRAME_HEADER_BYTES) {
      const where = `${this.#length - this.#left} bytes into a message of ${this.#length} bytes by its prefix`;
      return { what: `The request ends ${where}; send it whole` };
    }
    if (this.#prefix > 0) {
      return {
        what: `The request ends ${this.#prefix} bytes into the five-byte prefix of a message; send it completely`,
      };
    }
    if (this.#count > 0 || this.#rules.isStream) return undefined;
    const what =
      'The method takes one message, and the request has ended without one; one without fields is five bytes of 0';
    return { what, as: 'UNIMPLEMENTED' };
  }

  /** Drops the bytes of an incomplete message. */
  drop(): void {
    this.#first = undefined;
    this.#gathered = undefined;
  }

  /** The first byte of a frame: the compression flag. */
  #begin(flag: number): FrameFault | undefined {
    if (this.#count > 0 && !this.#rules.isStream) {
      const found = `a second one begins after the first of ${this.#length} bytes`;
      const what = `The method takes one message, and ${found}; send one, and end the request`;
      return { what, as: 'UNIMPLEMENTED' };
    }
    if (flag > 1) {
      return { what: `The first byte of a message must be 0, or 1 when it is compressed; found ${flag}` };
    }
    if (flag === 1 && !isPacking(this.#encoding)) return encodingFault(this.#encoding);
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
    this.#left = this.#length;
    return undefined;
  }

  /** Keeps bytes of the current frame. Several pieces get memory for the announced length. */
  #gather(piece: Buffer): void {
    if (this.#first === undefined) {
      this.#first = piece;
      return;
    }
    if (this.#gathered === undefined) {
      this.#gathered = new GatheredBytes(this.#prefix < FRAME_HEADER_BYTES ? 0 : FRAME_HEADER_BYTES + this.#length);
      this.#gathered.add(this.#first);
    }
    this.#gathered.add(piece);
  }

  #finish(): void {
    const frame = this.#gathered?.take() ?? (this.#first && alone(this.#first));
    this.#prefix = 0;
    this.drop();
    if (frame !== undefined) this.#listener.take(frame.subarray(FRAME_HEADER_BYTES), this.#flag === 1);
  }
}

/** Copies a frame that pins much other memory. A large message has its own buffer, which is released (ADR 0017). */
function alone(frame: Buffer): Buffer {
  return frame.length < SMALL_BYTES || frame.length === frame.buffer.byteLength ? frame : Buffer.from(frame);
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
