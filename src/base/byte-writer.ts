/**
 * Appends varints, fixed-width integers, text and slices to one growing buffer.
 *
 * `view()` lends the bytes written so far, valid until the next write or `reset()`; `take()` and `cut()` copy them out.
 * Reuse a writer with `reset()`: after it has grown once, writing allocates nothing. Varints are those of protobuf, for
 * integers from 0 to 2^53 - 1; signed ones are zigzag-coded first.
 */
import { assert } from './assert.ts';
import { encodeUtf8Into } from './utf8.ts';

const TWO_28 = 2 ** 28;
const TWO_32 = 2 ** 32;
const START_BYTES = 256;
const VARINT_BYTES_MAX = 10;
/** Up to this length a loop is faster than `set`. */
const SHORT_BYTES_MAX = 48;

/**
 * Longer arrays are not cut from a slab: the rest of a replaced slab stays small, and a kept part pins little memory.
 */
const CUT_BYTES_MAX = 1024;
const SLAB_BYTES = 8 * 1024;
const NO_BYTES = new Uint8Array(0);

export class ByteWriter {
  /** Empty before the first write: a node has thousands of writers that are hardly used. */
  #bytes: Uint8Array = NO_BYTES;
  readonly #startBytes: number;
  #length = 0;
  /** Last result of `view()`: rows of one kind mostly have one length, and a view costs more than writing the row. */
  #lent: Uint8Array | undefined;
  /** Slab that `cut` cuts from, and the offset of its free part. */
  #slab: Uint8Array = NO_BYTES;
  #slabAt = 0;

  constructor(startBytes: number = START_BYTES) {
    this.#startBytes = startBytes;
  }

  get length(): number {
    return this.#length;
  }

  reset(): void {
    this.#length = 0;
  }

  /** The bytes so far, lent until the next write or `reset()`. */
  view(): Uint8Array {
    if (this.#lent?.length !== this.#length) this.#lent = this.#bytes.subarray(0, this.#length);
    return this.#lent;
  }

  /** Returns the checksum of the bytes so far; `seed` is that of bytes before them. */
  checksum(checksum: (bytes: Uint8Array, from: number, to: number, seed: number) => number, seed: number = 0): number {
    return checksum(this.#bytes, 0, this.#length, seed);
  }

  /** The bytes so far, as an array that the caller owns; the writer is empty afterwards. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  /** Like `take`, but hands over the underlying memory: nothing of a long array is left for the garbage collector. */
  handOver(): Uint8Array {
    const bytes = this.#bytes;
    const length = this.#length;
    if (!(bytes.buffer instanceof ArrayBuffer)) return this.take();
    this.reset();
    this.#bytes = NO_BYTES;
    this.#lent = undefined;
    return bytes.length === length ? bytes : new Uint8Array(bytes.buffer.transfer(length));
  }

  /**
   * Like `take`, for short-lived bytes: a few bytes become a part of a shared buffer, which costs a fraction of a
   * buffer of their own.
   */
  cut(): Uint8Array {
    const length = this.#length;
    if (length > CUT_BYTES_MAX) return this.take();
    if (this.#slabAt + length > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_BYTES);
      this.#slabAt = 0;
    }
    const cut = this.#slab.subarray(this.#slabAt, this.#slabAt + length);
    cut.set(this.view());
    this.#slabAt += length;
    this.#length = 0;
    return cut;
  }

  u8(value: number): void {
    this.reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u16be(value: number): void {
    this.reserve(2);
    this.#bytes[this.#length++] = value >>> 8;
    this.#bytes[this.#length++] = value;
  }

  u32be(value: number): void {
    this.reserve(4);
    this.#bytes[this.#length++] = value >>> 24;
    this.#bytes[this.#length++] = value >>> 16;
    this.#bytes[this.#length++] = value >>> 8;
    this.#bytes[this.#length++] = value;
  }

  u32le(value: number): void {
    this.reserve(4);
    this.#bytes[this.#length++] = value;
    this.#bytes[this.#length++] = value >>> 8;
    this.#bytes[this.#length++] = value >>> 16;
    this.#bytes[this.#length++] = value >>> 24;
  }

  /** A safe integer of 0 or more in 8 bytes, big-endian. */
  u64be(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'A u64 holds an integer from 0 to 2^53 - 1', value);
    this.u32be(Math.floor(value / TWO_32));
    this.u32be(value % TWO_32);
  }

  /** A safe integer of 0 or more in 8 bytes, little-endian. */
  u64le(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'A u64 holds an integer from 0 to 2^53 - 1', value);
    this.u32le(value % TWO_32);
    this.u32le(Math.floor(value / TWO_32));
  }

  varint(value: number): void {
    this.reserve(VARINT_BYTES_MAX);
    if (value < 0x80) {
      this.#bytes[this.#length++] = value;
      return;
    }
    let rest = value;
    // Bitwise arithmetic ends at 31 bits; above it, peel off 28 bits (four whole groups) at a time by division.
    while (rest >= TWO_28) {
      const low = rest % TWO_28;
      this.#bytes[this.#length++] = low | 0x80;
      this.#bytes[this.#length++] = (low >>> 7) | 0x80;
      this.#bytes[this.#length++] = (low >>> 14) | 0x80;
      this.#bytes[this.#length++] = (low >>> 21) | 0x80;
      rest = Math.floor(rest / TWO_28);
    }
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = rest | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A safe integer of either sign, small magnitudes first: 0, -1, 1, -2 become 0, 1, 2, 3. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  bytes(part: Uint8Array): void {
    if (part.length <= SHORT_BYTES_MAX) {
      this.slice(part, 0, part.length);
      return;
    }
    this.reserve(part.length);
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
  }

  /** Appends the bytes of the other writer, without a view of them. */
  append(other: ByteWriter): void {
    this.slice(other.#bytes, 0, other.#length);
  }

  /** The bytes `[from, to)` of `source`; short runs are copied without making a view of them. */
  slice(source: Uint8Array, from: number, to: number): void {
    const count = to - from;
    this.reserve(count);
    if (count > SHORT_BYTES_MAX) this.#bytes.set(source.subarray(from, to), this.#length);
    else for (let at = 0; at < count; at++) this.#bytes[this.#length + at] = source[from + at] ?? 0;
    this.#length += count;
  }

  /** The text as UTF-8, without a length. Returns the count of bytes. */
  utf8(text: string): number {
    this.reserve(3 * text.length);
    const written = encodeUtf8Into(text, this.#bytes, this.#length);
    this.#length += written;
    return written;
  }

  /** Reserves one byte for a length. Pass the returned mark to `endLength`. */
  beginLength(): number {
    this.reserve(1);
    return this.#length++;
  }

  /**
   * Puts the count of bytes since the mark in front of them, as a varint; moves them when it takes more than a byte.
   */
  endLength(mark: number): void {
    const count = this.#length - mark - 1;
    const extra = varintLength(count) - 1;
    // Reserves the varint too: growing after the length is set back would lose the bytes after it.
    this.reserve(VARINT_BYTES_MAX);
    if (extra > 0) this.#bytes.copyWithin(mark + 1 + extra, mark + 1, this.#length);
    this.#length = mark;
    this.varint(count);
    this.#length += count;
  }

  /** Makes room for `count` more bytes, so that the writes up to there do not grow the buffer. */
  reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#startBytes, 2 * this.#bytes.length, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#lent = undefined;
  }
}

/** Number of bytes that `ByteWriter.varint` writes for the value. */
export function varintLength(value: number): number {
  let count = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) count++;
  return count;
}
