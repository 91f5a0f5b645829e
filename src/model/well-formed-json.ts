/**
 * Validates JSON (RFC 8259) in one pass without allocations, because a fold checks millions of payloads. The scanner of
 * json-scan.ts finds the offset and the expectation of an error.
 *
 *   M12 The result equals that of the scanner and a UTF-8 check of the range.
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
const NOT_JSON = -1;

/** The open containers by depth: 1 an object, 0 an array. Shared, because validation is synchronous. */
const IS_OBJECT = new Uint8Array(JSON_DEPTH_MAX);
/** Characters after a backslash, without `u`. */
const ESCAPES = new Uint8Array(256);
for (const escape of '"\\/bfnrt') ESCAPES[escape.charCodeAt(0)] = 1;

/** Returns true when the range is one JSON value in well-formed UTF-8, with optional surrounding white space. */
export function isWellFormedJson(bytes: Uint8Array, from: number, to: number): boolean {
  let depth = 0;
  let at = spaceEnd(bytes, from, to);
  for (;;) {
    const byte = at < to ? bytes[at] : undefined;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === JSON_DEPTH_MAX) return false;
      at = spaceEnd(bytes, at + 1, to);
      if (at >= to || bytes[at] !== byte + 2) {
        IS_OBJECT[depth++] = byte === OPEN_OBJECT ? 1 : 0;
        if (byte === OPEN_OBJECT) at = nameEnd(bytes, at, to);
        if (at === NOT_JSON) return false;
        continue;
      }
      at++;
    } else at = scalarEnd(bytes, at, to);
    if (at === NOT_JSON) return false;
    // A value ends here; close the containers that end after it.
    for (; depth > 0; depth--) {
      at = spaceEnd(bytes, at, to);
      const isObject = IS_OBJECT[depth - 1] === 1;
      const next = at < to ? bytes[at++] : undefined;
      if (next === COMMA) {
        at = spaceEnd(bytes, at, to);
        if (isObject) at = nameEnd(bytes, at, to);
        break;
      }
      if (next !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return false;
    }
    if (at === NOT_JSON) return false;
    if (depth === 0) return spaceEnd(bytes, at, to) === to;
  }
}

function spaceEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  for (; at < to; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** Skips the name of a member and its colon. */
function nameEnd(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to || bytes[from] !== QUOTE) return NOT_JSON;
  const name = stringEnd(bytes, from + 1, to);
  if (name === NOT_JSON) return NOT_JSON;
  const colon = spaceEnd(bytes, name, to);
  return colon < to && bytes[colon] === COLON ? spaceEnd(bytes, colon + 1, to) : NOT_JSON;
}

function scalarEnd(bytes: Uint8Array, at: number, to: number): number {
  if (at >= to) return NOT_JSON;
  const byte = bytes[at] ?? 0;
  if (byte === QUOTE) return stringEnd(bytes, at + 1, to);
  if (byte === MINUS || isDigit(byte)) return numberEnd(bytes, at, to);
  if (byte === 0x74) return literalEnd(bytes, at, to, 'true');
  if (byte === 0x66) return literalEnd(bytes, at, to, 'false');
  return literalEnd(bytes, at, to, 'null');
}

/** Starts after the quote. */
function stringEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const byte = bytes[at] ?? 0;
    // Fast path: most texts are mostly lowercase letters.
    if (byte > BACKSLASH && byte < 0x80) at++;
    else if (byte === QUOTE) return at + 1;
    else if (byte < 0x20) return NOT_JSON;
    else if (byte === BACKSLASH) {
      at = escapeEnd(bytes, at + 1, to);
      if (at === NOT_JSON) return NOT_JSON;
    } else if (byte < 0x80) at++;
    else {
      const length = sequenceLength(bytes, at, to);
      if (length === 0) return NOT_JSON;
      at += length;
    }
  }
  return NOT_JSON;
}

/** Starts after the backslash. */
function escapeEnd(bytes: Uint8Array, at: number, to: number): number {
  const byte = at < to ? (bytes[at] ?? 0) : 0;
  if (byte !== 0x75) return ESCAPES[byte] === 1 ? at + 1 : NOT_JSON;
  if (at + 4 >= to) return NOT_JSON;
  for (let digit = at + 1; digit <= at + 4; digit++) if (!isHexDigit(bytes[digit] ?? 0)) return NOT_JSON;
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
  return at > from ? at : NOT_JSON;
}

function literalEnd(bytes: Uint8Array, at: number, to: number, text: string): number {
  if (at + text.length > to) return NOT_JSON;
  for (let n = 0; n < text.length; n++) if (bytes[at + n] !== text.charCodeAt(n)) return NOT_JSON;
  return at + text.length;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
