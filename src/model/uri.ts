/**
 * URI-references (RFC 3986) on bytes: checks their grammar, and finds the stream inside a source.
 *
 * It checks characters, percent escapes, scheme and authority only; nothing is decoded, resolved or folded in case,
 * because a source is stored and compared as written.
 *
 * The stream of a source (SPEC-EVENT-STREAM) is the last non-empty segment of its path; without one, the host; without
 * a host, the whole source. It is kept as written, percent escapes included. The path excludes query and fragment, and
 * the part after a scheme without a slash is no segment. (M3)
 * ```
 * orders                           -> orders
 * /db/shop/streams/orders/         -> orders
 * https://x.example/streams/a?b#c  -> a
 * https://me@x.example:80/         -> x.example
 * urn:shop:orders, #fragment, /    -> the whole source
 * ```
 */

const SLASH = 0x2f;
const COLON = 0x3a;
const QUESTION = 0x3f;
const HASH = 0x23;
const PERCENT = 0x25;
const AT = 0x40;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Character classes as bit sets, by byte. */
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
interface UriParts {
  /** End of the scheme (its colon), or −1. */
  readonly schemeEnd: number;
  readonly pathStart: number;
  readonly pathEnd: number;
}

/** Finds the parts of any text; `isUriReference` checks them. */
function uriParts(bytes: Uint8Array, from: number, to: number): UriParts {
  const schemeEnd = endOfScheme(bytes, from, to);
  let pathStart = schemeEnd === -1 ? from : schemeEnd + 1;
  if (pathStart + 1 < to && bytes[pathStart] === SLASH && bytes[pathStart + 1] === SLASH) {
    pathStart = endOfSegment(bytes, pathStart + 2, to);
  }
  let pathEnd = pathStart;
  while (pathEnd < to && bytes[pathEnd] !== QUESTION && bytes[pathEnd] !== HASH) pathEnd++;
  return { schemeEnd, pathStart, pathEnd };
}

/** Index of the colon after the first segment's scheme-like beginning, or −1. */
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

export interface StreamSpan {
  readonly start: number;
  readonly end: number;
}

/** The range of the stream of the source `[from, to)`. It is non-empty when the source is. */
export function streamSpan(bytes: Uint8Array, from: number, to: number): StreamSpan {
  const { schemeEnd, pathStart, pathEnd } = uriParts(bytes, from, to);
  let end = pathEnd;
  while (end > pathStart && bytes[end - 1] === SLASH) end--;
  let start = end;
  while (start > pathStart && bytes[start - 1] !== SLASH) start--;
  const isSegment = start < end && (start > pathStart || schemeEnd === -1);
  if (isSegment) return { start, end };
  const host = hostSpan(bytes, schemeEnd === -1 ? from : schemeEnd + 1, pathStart);
  return host.start < host.end ? host : { start: from, end: to };
}

/** The host of the authority `//user@host:port`, which may be empty; outside brackets a colon begins the port. */
function hostSpan(bytes: Uint8Array, from: number, to: number): StreamSpan {
  let start = Math.min(from + 2, to);
  for (let i = start; i < to; i++) if (bytes[i] === AT) start = i + 1;
  let end = start;
  for (let isInBrackets = false; end < to && (isInBrackets || bytes[end] !== COLON); end++) {
    if (bytes[end] === OPEN_BRACKET) isInBrackets = true;
    else if (bytes[end] === CLOSE_BRACKET) isInBrackets = false;
  }
  return { start, end };
}

/** Returns true for a non-empty URI-reference. */
export function isUriReference(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to || !hasUriCharacters(bytes, from, to)) return false;
  const { schemeEnd } = uriParts(bytes, from, to);
  return schemeEnd === -1 || isScheme(bytes, from, schemeEnd);
}

/** Returns true for a URI with a scheme and a non-empty rest. */
export function isAbsoluteUri(bytes: Uint8Array, from: number, to: number): boolean {
  if (!isUriReference(bytes, from, to)) return false;
  const { schemeEnd } = uriParts(bytes, from, to);
  return schemeEnd !== -1 && schemeEnd + 1 < to;
}

/** Checks characters of RFC 3986, percent escapes, brackets only around an address in the authority, one fragment. */
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
    if (byte === OPEN_BRACKET || byte === CLOSE_BRACKET) return hasBracketsInAuthority(bytes, from, to);
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

/** Handles an IPv6 address, which is rare: its one pair of brackets is in the authority; the rest is the same. */
function hasBracketsInAuthority(bytes: Uint8Array, from: number, to: number): boolean {
  const { schemeEnd, pathStart } = uriParts(bytes, from, to);
  const authorityStart = schemeEnd === -1 ? from : schemeEnd + 1;
  let open = -1;
  let close = -1;
  for (let i = authorityStart; i < pathStart; i++) {
    if (bytes[i] === OPEN_BRACKET && open === -1) open = i;
    else if (bytes[i] === CLOSE_BRACKET && close === -1) close = i;
    else if (bytes[i] === OPEN_BRACKET || bytes[i] === CLOSE_BRACKET) return false;
  }
  if (open === -1 || close < open) return false;
  return (
    hasUriCharacters(bytes, from, open) &&
    hasUriCharacters(bytes, open + 1, close) &&
    hasUriCharacters(bytes, close + 1, to)
  );
}
