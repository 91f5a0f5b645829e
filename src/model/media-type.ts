/**
 * `datacontenttype` (RFC 2046 and RFC 9110): `type/subtype` and parameters, on bytes, and checks whether it declares
 * JSON or text. Printable ASCII only, also inside quotes.
 */
import { encodeUtf8 } from '#base';
import { CONTENT_TYPE_BYTES_MAX } from './limits.ts';

const SPACE = 0x20;
const TILDE = 0x7e;
const SLASH = 0x2f;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const TOKEN_CHARACTERS: Uint8Array = tokenCharacters();

function tokenCharacters(): Uint8Array {
  const table = new Uint8Array(256);
  const characters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

export function isMediaType(bytes: Uint8Array, from: number, to: number): boolean {
  const slash = endOfToken(bytes, from, to);
  if (slash === from || bytes[slash] !== SLASH || slash >= to) return false;
  const end = endOfToken(bytes, slash + 1, to);
  if (end === slash + 1) return false;
  return areParameters(bytes, end, to);
}

/** The rule that a content type breaks, or undefined. */
export function mediaTypeRule(text: string): string | undefined {
  const bytes = encodeUtf8(text);
  if (bytes.length <= CONTENT_TYPE_BYTES_MAX && isMediaType(bytes, 0, bytes.length)) return undefined;
  return `must be a media type such as application/json, of at most ${CONTENT_TYPE_BYTES_MAX} bytes`;
}

function endOfToken(bytes: Uint8Array, from: number, to: number): number {
  let i = from;
  while (i < to && TOKEN_CHARACTERS[bytes[i] ?? 0] === 1) i++;
  return i;
}

function skipSpace(bytes: Uint8Array, from: number, to: number): number {
  let i = from;
  while (i < to && bytes[i] === SPACE) i++;
  return i;
}

/** `; name=token` or `; name="quoted"`, any number; an empty one between semicolons is allowed, as in RFC 9110. */
function areParameters(bytes: Uint8Array, from: number, to: number): boolean {
  let i = skipSpace(bytes, from, to);
  while (i < to) {
    if (bytes[i] !== SEMICOLON) return false;
    i = skipSpace(bytes, i + 1, to);
    const nameEnd = endOfToken(bytes, i, to);
    if (nameEnd > i) {
      if (nameEnd >= to || bytes[nameEnd] !== EQUALS) return false;
      const valueEnd = endOfValue(bytes, nameEnd + 1, to);
      if (valueEnd === -1) return false;
      i = valueEnd;
    }
    i = skipSpace(bytes, i, to);
  }
  return true;
}

/** End of a token or quoted string at `from`, or −1. */
function endOfValue(bytes: Uint8Array, from: number, to: number): number {
  if (from >= to || bytes[from] !== QUOTE) {
    const end = endOfToken(bytes, from, to);
    return end === from ? -1 : end;
  }
  for (let i = from + 1; i < to; i++) {
    if (bytes[i] === QUOTE) return i + 1;
    if (bytes[i] === BACKSLASH) i++;
    const byte = bytes[i] ?? 0;
    if (i >= to || byte < SPACE || byte > TILDE) return -1;
  }
  return -1;
}

/** JSON by name: application/json, text/json, or a subtype ending in +json. */
export function isJsonType(mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  return essence === 'application/json' || essence === 'text/json' || essence.endsWith('+json');
}

/** Returns whether browsers run the type as a script (WHATWG MIME Sniffing, "JavaScript MIME type"). */
export function isScriptType(mediaType: string): boolean {
  return /^(?:application|text)\/(?:x-)?(?:java|ecma|live|j)script(?:1\.[0-5])?$/.test(essenceOf(mediaType));
}

export function isTextType(mediaType: string): boolean {
  return essenceOf(mediaType).startsWith('text/');
}

/** Type and subtype in lowercase, without parameters. */
function essenceOf(mediaType: string): string {
  const end = mediaType.indexOf(';');
  return (end === -1 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}
