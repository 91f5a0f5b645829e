/**
 * Writes JSON as bytes into a growing buffer: copies UTF-8 text into quoted strings, without building strings or
 * objects. It escapes as JSON.stringify does.
 *
 * The caller reserves room with `reserve`; no other method checks it. Text is copied in words of four bytes, each of
 * which is tested at once for bytes that need an escape or are not ASCII. Bytes after the end of the written part are
 * undefined.
 */
import { assert, encodeUtf8, indexOfIllFormed, NO_BYTES } from '#base';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const ZERO = 0x30;
const PADDING = 0x3d;
/** Maximum bytes of one escaped byte of text: `\u001f`. */
export const ESCAPED_BYTES_MAX = 6;
const WORD_BYTES = 4;
/** Length from which a view and a native copy cost less than a loop over words. */
const LONG_RUN_BYTES = 256;
/** Constants for tests on all four bytes of a word: highest bits, ones, and the bytes to compare with. */
const [HIGH, ONES, SPACES, QUOTES, BACKSLASHES] = [0x80808080, 0x01010101, 0x20202020, 0x22222222, 0x5c5c5c5c];

const HEX_DIGITS: Uint8Array = ascii('0123456789abcdef');
const BASE64_DIGITS: Uint8Array = ascii('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
/** For each byte, the character after the backslash of its escape, or 0 when it is not escaped. */
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

/** A constant text, encoded in whole words; the last word may have excess bytes. */
export interface Phrase {
  readonly words: Int32Array;
  readonly length: number;
}

export function phraseOf(text: string): Phrase {
  const bytes = encodeUtf8(text);
  const words = new Int32Array(Math.ceil(bytes.length / WORD_BYTES));
  for (const [n, byte] of bytes.entries()) words[n >> 2] = (words[n >> 2] ?? 0) | (byte << (8 * (n & 3)));
  return { words, length: bytes.length };
}

const NO_VIEW = new DataView(new ArrayBuffer(0));

/** Returns a buffer to reuse, if there is one. */
export type SpareMemory = () => ArrayBuffer | undefined;

export class JsonBytes {
  readonly #startBytes: number;
  readonly #spare: SpareMemory;
  bytes: Uint8Array = NO_BYTES;
  #view: DataView = NO_VIEW;
  /** Offset of the next byte. */
  at = 0;
  /** Source of `run`, `text` and `base64`. */
  #source: Uint8Array = NO_BYTES;
  #sourceView: DataView = NO_VIEW;

  constructor(startBytes: number, spare: SpareMemory = () => undefined) {
    this.#startBytes = startBytes;
    this.#spare = spare;
  }

  /** Ensures room for so many more bytes. */
  reserve(count: number): void {
    const end = this.at + count + WORD_BYTES;
    if (end <= this.bytes.length) return;
    const spare = this.bytes.length === 0 ? this.#spare() : undefined;
    const isSpare = spare !== undefined && spare.byteLength >= end;
    const grown = isSpare ? new Uint8Array(spare) : this.#made(end);
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  #made(end: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(Math.max(this.#startBytes, 2 * this.bytes.length, end));
  }

  /** Returns the written bytes, and starts a new buffer. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.at);
    this.bytes = NO_BYTES;
    this.#view = NO_VIEW;
    this.reset();
    return taken;
  }

  /** Starts again in the same buffer. */
  reset(): void {
    this.at = 0;
    this.#source = NO_BYTES;
    this.#sourceView = NO_VIEW;
  }

  /** Sets the source of the following copies. */
  from(source: Uint8Array): void {
    if (source === this.#source) return;
    this.#source = source;
    this.#sourceView = new DataView(source.buffer, source.byteOffset, source.byteLength);
  }

  byte(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  phrase({ words, length }: Phrase): void {
    const view = this.#view;
    for (let n = 0, into = this.at; n < words.length; n++, into += WORD_BYTES) view.setInt32(into, words[n] ?? 0, true);
    this.at += length;
  }

  /** Copies bytes of the source. */
  run(from: number, to: number): void {
    const { bytes } = this;
    let into = this.at;
    this.at = into + to - from;
    if (to - from >= LONG_RUN_BYTES) {
      bytes.set(this.#source.subarray(from, to), into);
      return;
    }
    const [source, sourceView, view] = [this.#source, this.#sourceView, this.#view];
    let n = from;
    for (; n + WORD_BYTES <= to; n += WORD_BYTES, into += WORD_BYTES)
      view.setInt32(into, sourceView.getInt32(n, true), true);
    for (; n < to; n++) bytes[into++] = source[n] ?? 0;
  }

  /** Writes ASCII text that needs no escape. */
  ascii(text: string): void {
    const { bytes, at } = this;
    for (let n = 0; n < text.length; n++) bytes[at + n] = text.charCodeAt(n);
    this.at = at + text.length;
  }

  /** Writes a non-negative integer. */
  count(count: number): void {
    if (count > 9) this.ascii(String(count));
    else this.bytes[this.at++] = ZERO + count;
  }

  /** Writes a string with the text `[from, to)` of the source, which is UTF-8. */
  text(from: number, to: number): void {
    const [{ bytes }, sourceView, view] = [this, this.#sourceView, this.#view];
    let into = this.at;
    bytes[into++] = QUOTE;
    let n = from;
    for (; n + WORD_BYTES <= to; n += WORD_BYTES, into += WORD_BYTES) {
      const word = sourceView.getInt32(n, true);
      // Any byte above 0x7f, below a space, or equal to a quote or backslash sets its highest bit in a term below.
      if (((word | (word - SPACES) | ((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES)) & HIGH) !== 0) break;
      view.setInt32(into, word, true);
    }
    this.at = into;
    this.#characters(n, to);
    this.byte(QUOTE);
  }

  /** Writes the characters of a string, escaped where needed. */
  #characters(from: number, to: number): void {
    const [{ bytes }, source] = [this, this.#source];
    let into = this.at;
    let bits = 0;
    for (let n = from; n < to; n++) {
      const byte = source[n] ?? 0;
      bits |= byte;
      const letter = ESCAPES[byte] ?? 0;
      if (letter === 0) bytes[into++] = byte;
      else into = escaped(bytes, into, byte);
    }
    this.at = into;
    if (bits > 0x7f) assert(indexOfIllFormed(source, from, to) === -1, 'Text of a stored event is UTF-8', from);
  }

  /** Writes a string with the base64 of `[from, to)` of the source. */
  base64(from: number, to: number): void {
    const source = this.#source;
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

/** Number of bytes that `text` writes. */
export function textBytes(source: Uint8Array, from: number, to: number): number {
  let count = to - from + 2;
  for (let n = from; n < to; n++) {
    const letter = ESCAPES[source[n] ?? 0] ?? 0;
    if (letter !== 0) count += letter === LOWER_U ? ESCAPED_BYTES_MAX - 1 : 1;
  }
  return count;
}

/** Number of bytes that `base64` writes. */
export function base64Bytes(count: number): number {
  return 4 * Math.ceil(count / 3) + 2;
}
