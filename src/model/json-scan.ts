/**
 * Scans JSON text in place (RFC 8259, in well-formed UTF-8): finds the end of each part.
 *
 * A fold checks millions of payloads, so nothing is allocated: offsets go in and out, and the scan of a value is a loop
 * with one bit per level, up to JSON_DEPTH_MAX levels. `to` is always the end of the text.
 *
 *   M12 A text is accepted exactly when it is well-formed UTF-8 and JSON with at most JSON_DEPTH_MAX levels.
 */
import { sequenceLength } from '#base';
import { JSON_DEPTH_MAX } from './limits.ts';

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The end of a part that is not JSON. `mismatch` then has the reason. */
export const NOT_JSON = -1;

const NAME_RULE = 'a member name in quotes';
/** A container that would be one level too deep. */
export const DEPTH_RULE: string = `at most ${JSON_DEPTH_MAX} levels`;

/** Offset of the last mismatch; `expected` completes "expected …". Shared, because scanning is synchronous. */
export const mismatch: { offset: number; expected: string } = { offset: 0, expected: '' };

/** The open containers by depth: 1 an object, 0 an array. Shared likewise. */
const IS_OBJECT = new Uint8Array(JSON_DEPTH_MAX);
/** Characters after a backslash, without `u`. */
const ESCAPES = new Uint8Array(256);
for (const escape of '"\\/bfnrt') ESCAPES[escape.charCodeAt(0)] = 1;

/** Records the expectation. Returns NOT_JSON, for `return`. */
export function fail(offset: number, expected: string): typeof NOT_JSON {
  mismatch.offset = offset;
  mismatch.expected = expected;
  return NOT_JSON;
}

/** Returns true when the range is one JSON value with optional surrounding white space. */
export function isWellFormedJson(bytes: Uint8Array, from: number, to: number): boolean {
  const end = valueEnd(bytes, spaceEnd(bytes, from, to), to, 0);
  return end !== NOT_JSON && spaceEnd(bytes, end, to) === to;
}

export function spaceEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  for (; at < to; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** Skips a whole value that is inside `outer` containers. */
export function valueEnd(bytes: Uint8Array, from: number, to: number, outer: number): number {
  let depth = outer;
  let at = from;
  for (;;) {
    const byte = at < to ? bytes[at] : undefined;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth >= JSON_DEPTH_MAX) return fail(at, DEPTH_RULE);
      at = spaceEnd(bytes, at + 1, to);
      if (at >= to || bytes[at] !== byte + 2) {
        IS_OBJECT[depth++] = byte === OPEN_OBJECT ? 1 : 0;
        if (byte === OPEN_OBJECT) at = nameEnd(bytes, at, to);
        if (at === NOT_JSON) return NOT_JSON;
        continue;
      }
      at++;
    } else at = scalarEnd(bytes, at, to);
    if (at === NOT_JSON) return NOT_JSON;
    // A value ends here; close the containers that end after it.
    for (; depth > outer; depth--) {
      at = spaceEnd(bytes, at, to);
      const isObject = IS_OBJECT[depth - 1] === 1;
      const next = at < to ? bytes[at] : undefined;
      if (next === COMMA) {
        at = spaceEnd(bytes, at + 1, to);
        if (isObject) at = nameEnd(bytes, at, to);
        break;
      }
      if (next !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return fail(at, isObject ? '"," or "}"' : '"," or "]"');
      at++;
    }
    if (at === NOT_JSON || depth === outer) return at;
  }
}

/** Skips the name of a member and its colon. */
function nameEnd(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to || bytes[from] !== QUOTE) return fail(from, NAME_RULE);
  const end = stringEnd(bytes, from + 1, to);
  return end === NOT_JSON ? NOT_JSON : colonEnd(bytes, end, to);
}

/** Skips the quoted name of a member. */
export function nameTextEnd(bytes: Uint8Array, at: number, to: number): number {
  return at < to && bytes[at] === QUOTE ? stringEnd(bytes, at + 1, to) : fail(at, NAME_RULE);
}

/** Skips the colon and the space around it. */
export function colonEnd(bytes: Uint8Array, from: number, to: number): number {
  const colon = spaceEnd(bytes, from, to);
  return colon < to && bytes[colon] === COLON ? spaceEnd(bytes, colon + 1, to) : fail(colon, '":"');
}

export function scalarEnd(bytes: Uint8Array, at: number, to: number): number {
  const byte = at < to ? (bytes[at] ?? 0) : 0;
  if (byte === QUOTE) return stringEnd(bytes, at + 1, to);
  if (byte === MINUS || isDigit(byte)) return numberEnd(bytes, at, to);
  if (byte === 0x74) return literalEnd(bytes, at, to, 'true');
  if (byte === 0x66) return literalEnd(bytes, at, to, 'false');
  if (byte === 0x6e) return literalEnd(bytes, at, to, 'null');
  return fail(at, 'a value');
}

/** Starts after the quote. */
export function stringEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const byte = bytes[at] ?? 0;
    // Fast path: most texts are mostly lowercase letters.
    if (byte > BACKSLASH && byte < 0x80) at++;
    else if (byte === QUOTE) return at + 1;
    else if (byte < 0x20) return fail(at, 'an escape instead of a control character');
    else if (byte === BACKSLASH) {
      at = escapeEnd(bytes, at + 1, to);
      if (at === NOT_JSON) return NOT_JSON;
    } else if (byte < 0x80) at++;
    else {
      const length = sequenceLength(bytes, at, to);
      if (length === 0) return fail(at, 'well-formed UTF-8');
      at += length;
    }
  }
  return fail(to, 'the end of the string');
}

/** Starts after the backslash. */
function escapeEnd(bytes: Uint8Array, at: number, to: number): number {
  const byte = at < to ? (bytes[at] ?? 0) : 0;
  if (byte !== 0x75) {
    return ESCAPES[byte] === 1 ? at + 1 : fail(at - 1, 'an escape: one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u');
  }
  for (let digit = at + 1; digit <= at + 4; digit++) {
    if (digit >= to || !isHexDigit(bytes[digit] ?? 0)) return fail(digit, 'four hexadecimal digits');
  }
  return at + 5;
}

function numberEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = bytes[from] === MINUS ? from + 1 : from;
  at = at < to && bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at, to);
  if (at !== NOT_JSON && at < to && bytes[at] === POINT) at = digitsEnd(bytes, at + 1, to);
  if (at === NOT_JSON || at >= to || (bytes[at] !== 0x65 && bytes[at] !== 0x45)) return at;
  at++;
  if (at < to && (bytes[at] === PLUS || bytes[at] === MINUS)) at++;
  return digitsEnd(bytes, at, to);
}

/** At least one digit. */
function digitsEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isDigit(bytes[at] ?? 0)) at++;
  return at > from ? at : fail(at, 'a digit');
}

function literalEnd(bytes: Uint8Array, at: number, to: number, text: string): number {
  for (let n = 0; n < text.length; n++) {
    if (at + n >= to || bytes[at + n] !== text.charCodeAt(n)) return fail(at, text);
  }
  return at + text.length;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
