/**
 * JSON written as bytes into a buffer that grows: text that stands somewhere as UTF-8 goes between quotes here, and
 * nothing is built on the way. What is escaped, and how, is what JSON.stringify does.
 *
 * Whoever writes sees to room first, by `reserve`; no other method looks.
 */
import { NO_BYTES } from '#base';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const ZERO = 0x30;
const PADDING = 0x3d;
/** Of one byte of text: `\u001f`. */
export const ESCAPED_BYTES_MAX = 6;
/** From here on a view and a copy by the engine cost less than a loop. */
const LONG_RUN_BYTES = 160;

const HEX_DIGITS: Uint8Array = ascii('0123456789abcdef');
const BASE64_DIGITS: Uint8Array = ascii('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
/** By byte: what stands behind a backslash for it; 0: it stands for itself. */
const ESCAPES: Uint8Array = escapes();

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function escapes(): Uint8Array {
  const table = new Uint8Array(256).fill(LOWER_U, 0, 0x20);
  for (const [byte = 0, letter = 0] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'].map(ascii)) {
    table[byte] = letter;
  }
  return table;
}

export class JsonBytes {
  readonly #startBytes: number;
  bytes: Uint8Array = NO_BYTES;
  /** Where the next byte goes. */
  at = 0;

  constructor(startBytes: number) {
    this.#startBytes = startBytes;
  }

  /** Room for so many bytes more. */
  reserve(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#startBytes, 2 * this.bytes.length, this.at + count));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  /** Hands over what was written, and begins with a buffer of its own. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.at);
    this.bytes = NO_BYTES;
    this.at = 0;
    return taken;
  }

  byte(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** Bytes as they are. */
  run(source: Uint8Array, from: number = 0, to: number = source.length): void {
    const { bytes, at } = this;
    this.at = at + to - from;
    if (to - from >= LONG_RUN_BYTES) bytes.set(source.subarray(from, to), at);
    else for (let n = from, into = at; n < to; n++) bytes[into++] = source[n] ?? 0;
  }

  /** Text of ASCII characters that need no escape, as it is. */
  ascii(text: string): void {
    for (let n = 0; n < text.length; n++) this.bytes[this.at++] = text.charCodeAt(n);
  }

  /** A whole number that is not negative. */
  count(count: number): void {
    if (count > 9) this.ascii(String(count));
    else this.bytes[this.at++] = ZERO + count;
  }

  /** A string of the text `[from, to)`, which is UTF-8. */
  text(source: Uint8Array, from: number, to: number): void {
    const { bytes } = this;
    let at = this.at;
    bytes[at++] = QUOTE;
    for (let n = from; n < to; n++) {
      const byte = source[n] ?? 0;
      const letter = ESCAPES[byte] ?? 0;
      if (letter === 0) bytes[at++] = byte;
      else at = escaped(bytes, at, byte);
    }
    bytes[at] = QUOTE;
    this.at = at + 1;
  }

  /** A string of the base64 of `[from, to)`. */
  base64(source: Uint8Array, from: number, to: number): void {
    this.byte(QUOTE);
    for (let n = from; n < to; n += 3) {
      const [second, third] = [n + 1 < to, n + 2 < to];
      const bits =
        ((source[n] ?? 0) << 16) | ((second ? (source[n + 1] ?? 0) : 0) << 8) | (third ? (source[n + 2] ?? 0) : 0);
      this.byte(BASE64_DIGITS[bits >>> 18] ?? 0);
      this.byte(BASE64_DIGITS[(bits >>> 12) & 63] ?? 0);
      this.byte(second ? (BASE64_DIGITS[(bits >>> 6) & 63] ?? 0) : PADDING);
      this.byte(third ? (BASE64_DIGITS[bits & 63] ?? 0) : PADDING);
    }
    this.byte(QUOTE);
  }
}

function escaped(bytes: Uint8Array, start: number, byte: number): number {
  const letter = ESCAPES[byte] ?? 0;
  bytes[start] = BACKSLASH;
  bytes[start + 1] = letter;
  if (letter !== LOWER_U) return start + 2;
  bytes[start + 2] = ZERO;
  bytes[start + 3] = ZERO;
  bytes[start + 4] = HEX_DIGITS[byte >>> 4] ?? 0;
  bytes[start + 5] = HEX_DIGITS[byte & 15] ?? 0;
  return start + ESCAPED_BYTES_MAX;
}

/** The bytes that `text` writes. */
export function textBytes(source: Uint8Array, from: number, to: number): number {
  let count = to - from + 2;
  for (let n = from; n < to; n++) {
    const letter = ESCAPES[source[n] ?? 0] ?? 0;
    if (letter !== 0) count += letter === LOWER_U ? ESCAPED_BYTES_MAX - 1 : 1;
  }
  return count;
}

/** The bytes that `base64` writes. */
export function base64Bytes(count: number): number {
  return 4 * Math.ceil(count / 3) + 2;
}
