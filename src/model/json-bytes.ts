/**
 * JSON written as bytes into a buffer that grows: text that stands somewhere as UTF-8 goes between quotes here, and
 * nothing is built on the way. What is escaped, and how, is what JSON.stringify does.
 *
 * Whoever writes sees to room first, by `reserve`; no other method looks. Bytes go four at a time, and whether one of
 * them is escaped, or is not ASCII, is seen of all four at once; what was only looked at and what is in the buffer
 * behind its end may be anything.
 */
import { assert, encodeUtf8, indexOfIllFormed, NO_BYTES } from '#base';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const ZERO = 0x30;
const PADDING = 0x3d;
/** Of one byte of text: `\u001f`. */
export const ESCAPED_BYTES_MAX = 6;
const WORD_BYTES = 4;
/** From here on a view and a copy by the engine cost less than a loop over words. */
const LONG_RUN_BYTES = 256;
/** Of the four bytes of a word: their highest bits, ones, and what they are compared with. */
const [HIGH, ONES, SPACES, QUOTES, BACKSLASHES] = [0x80808080, 0x01010101, 0x20202020, 0x22222222, 0x5c5c5c5c];

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

/** What is written often, ready to be written: the last word may have more than there is. */
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

/** Memory that was taken before and is free again, if there is any. */
export type SpareMemory = () => ArrayBuffer | undefined;

export class JsonBytes {
  readonly #startBytes: number;
  readonly #spare: SpareMemory;
  bytes: Uint8Array = NO_BYTES;
  #view: DataView = NO_VIEW;
  /** Where the next byte goes. */
  at = 0;
  /** What `run`, `text` and `base64` take their bytes from. */
  #source: Uint8Array = NO_BYTES;
  #sourceView: DataView = NO_VIEW;

  constructor(startBytes: number, spare: SpareMemory = () => undefined) {
    this.#startBytes = startBytes;
    this.#spare = spare;
  }

  /** Room for so many bytes more. */
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

  /** Hands over what was written, and begins with a buffer of its own. */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.at);
    this.bytes = NO_BYTES;
    this.#view = NO_VIEW;
    this.at = 0;
    this.#source = NO_BYTES;
    this.#sourceView = NO_VIEW;
    return taken;
  }

  /** From here on these are what is copied from. */
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

  /** Bytes of the source as they are. */
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

  /** Text of ASCII characters that need no escape, as it is. */
  ascii(text: string): void {
    for (let n = 0; n < text.length; n++) this.bytes[this.at++] = text.charCodeAt(n);
  }

  /** A whole number that is not negative. */
  count(count: number): void {
    if (count > 9) this.ascii(String(count));
    else this.bytes[this.at++] = ZERO + count;
  }

  /** A string of the text `[from, to)` of the source, which is UTF-8. */
  text(from: number, to: number): void {
    const [{ bytes }, sourceView, view] = [this, this.#sourceView, this.#view];
    let into = this.at;
    bytes[into++] = QUOTE;
    let n = from;
    for (; n + WORD_BYTES <= to; n += WORD_BYTES, into += WORD_BYTES) {
      const word = sourceView.getInt32(n, true);
      // A byte is above 0x7f, below a space, a quote or a backslash: its highest bit is set, in one of these at least.
      if (((word | (word - SPACES) | ((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES)) & HIGH) !== 0) break;
      view.setInt32(into, word, true);
    }
    this.at = into;
    this.#characters(n, to);
    this.byte(QUOTE);
  }

  /** Of a string, whatever they are. */
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

  /** A string of the base64 of `[from, to)` of the source. */
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
