/**
 * Scans JSON text in place (RFC 8259): finds the end of a value and validates it. Nothing is built, so that payloads of
 * any size are checked and kept as their own bytes.
 *
 * The scan is a loop over bytes with a stack of one bit per level, up to JSON_DEPTH_MAX levels. It does not check UTF-8
 * inside strings; a caller that needs that checks the whole range first.
 */
import { JSON_DEPTH_MAX } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Offset and expectation of a mismatch: `expected` completes "expected …". */
export interface JsonMismatch {
  readonly offset: number;
  readonly expected: string;
}

/** A cursor over JSON text. The first error sets `mismatch`; reading must stop then. */
export class JsonScanner {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;
  mismatch: JsonMismatch | undefined;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
  }

  /** The next byte, or −1 at the end. */
  peek(): number {
    return this.at < this.end ? (this.bytes[this.at] ?? -1) : -1;
  }

  skipSpace(): void {
    for (;;) {
      const byte = this.peek();
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
      this.at++;
    }
  }

  /** Records the expectation. Returns false, for `return`. */
  fail(expected: string, offset: number = this.at): false {
    this.mismatch ??= { offset, expected };
    return false;
  }

  /** Skips a whole value that begins here at that depth. */
  value(depth: number): boolean {
    const objects: boolean[] = [];
    for (;;) {
      const byte = this.peek();
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth + objects.length >= JSON_DEPTH_MAX) return this.fail(`at most ${JSON_DEPTH_MAX} levels`);
        this.at++;
        this.skipSpace();
        if (this.peek() === byte + 2) this.at++;
        else {
          objects.push(byte === OPEN_OBJECT);
          if (byte === OPEN_OBJECT && !this.name()) return false;
          continue;
        }
      } else if (!this.scalar()) return false;
      if (!this.#afterValue(objects)) return false;
      if (objects.length === 0) return true;
    }
  }

  /** Closes the containers that end here and moves to the next value, if any. */
  #afterValue(objects: boolean[]): boolean {
    while (objects.length > 0) {
      const inObject = objects.at(-1) === true;
      this.skipSpace();
      const byte = this.peek();
      if (byte === COMMA) {
        this.at++;
        this.skipSpace();
        return inObject ? this.name() : true;
      }
      if (byte !== (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.fail(inObject ? '"," or "}"' : '"," or "]"');
      this.at++;
      objects.pop();
    }
    return true;
  }

  /** Skips the name of a member and its colon. */
  name(): boolean {
    return this.nameText() && this.colon();
  }

  nameText(): boolean {
    return this.peek() === QUOTE ? this.string() : this.fail('a member name in quotes');
  }

  /** Skips the colon and the space around it. */
  colon(): boolean {
    this.skipSpace();
    if (this.peek() !== COLON) return this.fail('":"');
    this.at++;
    this.skipSpace();
    return true;
  }

  scalar(): boolean {
    const byte = this.peek();
    if (byte === QUOTE) return this.string();
    if (byte === MINUS || isDigit(byte)) return this.number();
    if (byte === 0x74) return this.#literal('true');
    if (byte === 0x66) return this.#literal('false');
    if (byte === 0x6e) return this.#literal('null');
    return this.fail('a value');
  }

  /** Starts at the opening quote. */
  string(): boolean {
    this.at++;
    for (;;) {
      this.#plainCharacters();
      const byte = this.peek();
      if (byte === QUOTE) {
        this.at++;
        return true;
      }
      if (byte === -1) return this.fail('the end of the string');
      if (byte !== BACKSLASH) return this.fail('an escape instead of a control character');
      this.at++;
      if (!this.#escape()) return false;
    }
  }

  /** Skips unescaped ASCII quickly: most characters of most texts. */
  #plainCharacters(): void {
    const { bytes, end } = this;
    let { at } = this;
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
    }
    this.at = at;
  }

  #escape(): boolean {
    const byte = this.peek();
    this.at++;
    if (byte !== 0x75)
      return ESCAPES.has(byte) || this.fail('an escape: one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u', this.at - 2);
    for (let i = 0; i < 4; i++) {
      if (!isHexDigit(this.peek())) return this.fail('four hexadecimal digits');
      this.at++;
    }
    return true;
  }

  number(): boolean {
    if (this.peek() === MINUS) this.at++;
    if (this.peek() === ZERO) this.at++;
    else if (!this.#digits()) return false;
    if (this.peek() === POINT) {
      this.at++;
      if (!this.#digits()) return false;
    }
    if (this.peek() === 0x65 || this.peek() === 0x45) {
      this.at++;
      if (this.peek() === PLUS || this.peek() === MINUS) this.at++;
      if (!this.#digits()) return false;
    }
    return true;
  }

  #digits(): boolean {
    const start = this.at;
    while (isDigit(this.peek())) this.at++;
    return this.at > start || this.fail('a digit');
  }

  #literal(text: string): boolean {
    for (let i = 0; i < text.length; i++) {
      if (this.peek() !== text.charCodeAt(i)) return this.fail(text, this.at - i);
      this.at++;
    }
    return true;
  }
}

const ESCAPES: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)));

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
