/**
 * URI-references (RFC 3986) on bytes: their grammar as far as it decides validity, and the stream inside a source.
 *
 * Only the characters, percent escapes, scheme and authority shape are judged; nothing is decoded, resolved or folded
 * in case, because a source is stored and compared as it was written.
 *
 * The stream of a source is the last non-empty segment of its path (decisions 2.4), as written: percent escapes stay,
 * and neither authority, query nor fragment is part of a path. (M3)
 * ```
 * orders                          -> orders
 * /db/shop/streams/orders/        -> orders
 * https://x.example/streams/a?b#c -> a
 * urn:shop:orders                 -> shop:orders
 * https://x.example, #fragment    -> none: invalid as a source
 * ```
 */

const SLASH = 0x2f;
const COLON = 0x3a;
const QUESTION = 0x3f;
const HASH = 0x23;
const PERCENT = 0x25;

/** Bit sets by byte. */
const URI_CHARACTER = 1;
const HEX_DIGIT = 2;
const SCHEME_CHARACTER = 4;
const LETTER = 8;
const CLASSES = classes();

function classes(): Uint8Array {
  const table = new Uint8Array(256);
  const mark = (characters: string, bits: number): void => {
    for (const character of characters) table[character.charCodeAt(0)] = (table[character.charCodeAt(0)] ?? 0) | bits;
  };
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  mark(letters, URI_CHARACTER | SCHEME_CHARACTER | LETTER);
  mark('0123456789', URI_CHARACTER | SCHEME_CHARACTER | HEX_DIGIT);
  mark('abcdefABCDEF', HEX_DIGIT);
  mark('+-.', SCHEME_CHARACTER);
  mark("-._~:/?#[]@!$&'()*+,;=%", URI_CHARACTER);
  return table;
}

/** The parts of a URI-reference; the path is `[pathStart, pathEnd)`. */
export interface UriParts {
  /** End of the scheme (its colon), or −1. */
  readonly schemeEnd: number;
  readonly pathStart: number;
  readonly pathEnd: number;
}

/** Finds the parts of any text; whether they are valid is the matter of `isUriReference`. */
export function uriParts(bytes: Uint8Array, from: number, to: number): UriParts {
  const schemeEnd = endOfScheme(bytes, from, to);
  let pathStart = schemeEnd === -1 ? from : schemeEnd + 1;
  if (pathStart + 1 < to && bytes[pathStart] === SLASH && bytes[pathStart + 1] === SLASH) {
    pathStart = endOfSegment(bytes, pathStart + 2, to);
  }
  let pathEnd = pathStart;
  while (pathEnd < to && bytes[pathEnd] !== QUESTION && bytes[pathEnd] !== HASH) pathEnd++;
  return { schemeEnd, pathStart, pathEnd };
}

/** Index of the colon behind the first segment's scheme-like beginning, or −1. */
function endOfScheme(bytes: Uint8Array, from: number, to: number): number {
  for (let i = from; i < to; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === COLON) return i;
    if (byte === SLASH || byte === QUESTION || byte === HASH) return -1;
  }
  return -1;
}

function endOfSegment(bytes: Uint8Array, from: number, to: number): number {
  for (let i = from; i < to; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === SLASH || byte === QUESTION || byte === HASH) return i;
  }
  return to;
}

/** Start of the last non-empty segment of the path, or −1 when it has none; the end is `streamEnd`. */
export function streamStart(bytes: Uint8Array, parts: UriParts): number {
  const end = streamEnd(bytes, parts);
  let start = end;
  while (start > parts.pathStart && bytes[start - 1] !== SLASH) start--;
  return start === end ? -1 : start;
}

export function streamEnd(bytes: Uint8Array, parts: UriParts): number {
  let end = parts.pathEnd;
  while (end > parts.pathStart && bytes[end - 1] === SLASH) end--;
  return end;
}

/** Whether the range is a URI-reference that is not empty. */
export function isUriReference(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || !hasUriCharacters(bytes, from, to)) return false;
  const { schemeEnd } = uriParts(bytes, from, to);
  return schemeEnd === -1 || isScheme(bytes, from, schemeEnd);
}

/** Whether the range is a URI with a scheme, and with something behind it. */
export function isAbsoluteUri(bytes: Uint8Array, from: number, to: number): boolean {
  if (!isUriReference(bytes, from, to)) return false;
  const { schemeEnd } = uriParts(bytes, from, to);
  return schemeEnd !== -1 && schemeEnd + 1 < to;
}

/** Characters of RFC 3986, complete percent escapes, brackets only around an address in the authority, one fragment. */
function hasUriCharacters(bytes: Uint8Array, from: number, to: number): boolean {
  let fragment = false;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] ?? 0;
    const bits = CLASSES[byte] ?? 0;
    if ((bits & URI_CHARACTER) === 0) return false;
    if (byte === PERCENT && !isEscape(bytes, i, to)) return false;
    if (byte === HASH) {
      if (fragment) return false;
      fragment = true;
    }
    if (byte === 0x5b || byte === 0x5d) return hasBracketsInAuthority(bytes, from, to);
  }
  return true;
}

function isEscape(bytes: Uint8Array, at: number, to: number): boolean {
  return at + 2 < to && isHexDigit(bytes[at + 1] ?? 0) && isHexDigit(bytes[at + 2] ?? 0);
}

function isHexDigit(byte: number): boolean {
  return ((CLASSES[byte] ?? 0) & HEX_DIGIT) !== 0;
}

function isScheme(bytes: Uint8Array, from: number, to: number): boolean {
  if (((CLASSES[bytes[from] ?? 0] ?? 0) & LETTER) === 0 || from === to) return false;
  for (let i = from; i < to; i++) {
    if (((CLASSES[bytes[i] ?? 0] ?? 0) & SCHEME_CHARACTER) === 0) return false;
  }
  return true;
}

/** The rare case, an IPv6 address: the one pair of brackets is inside the authority; the rest is as without them. */
function hasBracketsInAuthority(bytes: Uint8Array, from: number, to: number): boolean {
  const { schemeEnd, pathStart } = uriParts(bytes, from, to);
  const authorityStart = schemeEnd === -1 ? from : schemeEnd + 1;
  let open = -1;
  let close = -1;
  for (let i = authorityStart; i < pathStart; i++) {
    if (bytes[i] === 0x5b && open === -1) open = i;
    else if (bytes[i] === 0x5d && close === -1) close = i;
    else if (bytes[i] === 0x5b || bytes[i] === 0x5d) return false;
  }
  if (open === -1 || close < open) return false;
  return (
    hasUriCharacters(bytes, from, open) &&
    hasUriCharacters(bytes, open + 1, close) &&
    hasUriCharacters(bytes, close + 1, to)
  );
}
