/**
 * Order-preserving keys: tuples whose bytes compare as their parts do (K7).
 *
 * ```
 * u8    1 byte
 * u16   2 bytes, big-endian
 * u32   4 bytes, big-endian
 * u64   8 bytes, big-endian; holds a safe integer, so the highest 11 bits are 0
 * term  a text: its bytes, then 00; without 00 inside, so that a term sorts before every longer one that it begins
 * bytes as they are, at the end of a key or of fixed length
 * ```
 * So all keys of a term form a range, and so do all terms with a common prefix: from the prefix up to its `prefixEnd`.
 */
import { assert } from '#base';

const TWO_32 = 2 ** 32;
const START_BYTES = 64;

/** Writes keys into the same scratch space; `key()` copies the current one out and starts the next. */
export class KeyWriter {
  #scratch: Uint8Array = new Uint8Array(START_BYTES);
  #length = 0;

  u8(value: number): this {
    assert(Number.isInteger(value) && value >= 0 && value <= 0xff, 'A u8 is an integer from 0 to 255', value);
    this.#reserve(1);
    this.#scratch[this.#length++] = value;
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    writeU32(this.#scratch, this.#length, value);
    this.#length += 4;
    return this;
  }

  u64(value: number): this {
    this.#reserve(8);
    writeU64(this.#scratch, this.#length, value);
    this.#length += 8;
    return this;
  }

  u16(value: number): this {
    assert(Number.isInteger(value) && value >= 0 && value <= 0xffff, 'A u16 is an integer from 0 to 65535', value);
    this.#reserve(2);
    this.#scratch[this.#length++] = value >>> 8;
    this.#scratch[this.#length++] = value & 0xff;
    return this;
  }

  /** Bytes as they are. Only the last part of a key, or a part of fixed length, may be written so. */
  bytes(part: Uint8Array): this {
    this.#reserve(part.length);
    this.#scratch.set(part, this.#length);
    this.#length += part.length;
    return this;
  }

  /** UTF-8 bytes and the terminator. */
  term(utf8: Uint8Array): this {
    assert(!utf8.includes(0), 'A term holds no byte 00, which ends it');
    this.bytes(utf8);
    return this.u8(0);
  }

  /** The key so far, as an array that the caller owns; the writer is empty afterwards. */
  key(): Uint8Array {
    const key = this.#scratch.slice(0, this.#length);
    this.#length = 0;
    return key;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#scratch.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#scratch.length, this.#length + bytes));
    grown.set(this.#scratch.subarray(0, this.#length));
    this.#scratch = grown;
  }
}

function writeU32(into: Uint8Array, at: number, value: number): void {
  assert(Number.isInteger(value) && value >= 0 && value < TWO_32, 'A u32 is an integer from 0 to 2^32 - 1', value);
  into[at] = value >>> 24;
  into[at + 1] = value >>> 16;
  into[at + 2] = value >>> 8;
  into[at + 3] = value;
}

function writeU64(into: Uint8Array, at: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'A u64 holds an integer from 0 to 2^53 - 1', value);
  writeU32(into, at, Math.floor(value / TWO_32));
  writeU32(into, at + 4, value % TWO_32);
}

export function readU16(from: Uint8Array, at: number): number {
  assert(at + 2 <= from.length, 'A u16 lies inside its key', at);
  return ((from[at] ?? 0) << 8) | (from[at + 1] ?? 0);
}

export function readU32(from: Uint8Array, at: number): number {
  assert(at + 4 <= from.length, 'A u32 lies inside its key', at);
  const high = ((from[at] ?? 0) << 8) | (from[at + 1] ?? 0);
  return high * 0x10000 + (((from[at + 2] ?? 0) << 8) | (from[at + 3] ?? 0));
}

export function readU64(from: Uint8Array, at: number): number {
  const value = readU32(from, at) * TWO_32 + readU32(from, at + 4);
  assert(Number.isSafeInteger(value), 'A u64 holds an integer from 0 to 2^53 - 1', value);
  return value;
}

/** The bytes of the term that starts at `at`, without its terminator: a view into the key. */
export function readTerm(from: Uint8Array, at: number): Uint8Array {
  const end = from.indexOf(0, at);
  assert(end >= 0, 'A term is ended by a byte 00', at);
  return from.subarray(at, end);
}

/** The least key above every key that begins with `prefix`; undefined when there is none, because it is all ff. */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last--;
  if (last < 0) return undefined;
  const end = prefix.slice(0, last + 1);
  end[last] = (end[last] ?? 0) + 1;
  return end;
}
