/**
 * A strict, lossless reader of JSON (M8).
 *
 * Numbers stay text, and objects are Maps, so that no name is special; duplicate names are refused; depth and number of
 * values are limited; the text must be UTF-8 without a byte order mark. Values of members named in `raw` (event
 * payloads) are checked to be JSON and kept as their own bytes; their contents, even duplicate names, are not checked.
 */
import { assert, decodeUtf8, indexOfIllFormed, quote } from '#base';
import {
  colonEnd,
  DEPTH_RULE,
  fail,
  mismatch,
  NOT_JSON,
  nameTextEnd,
  scalarEnd,
  spaceEnd,
  stringEnd,
  valueEnd,
} from './json-scan.ts';
import { JSON_DEPTH_MAX, JSON_VALUES_MAX } from './limits.ts';

export type JsonNode = JsonObject | JsonArray | JsonString | JsonNumber | JsonBoolean | JsonNull | JsonRaw;

export interface JsonObject {
  readonly kind: 'object';
  /** In the order of the text. */
  readonly members: ReadonlyMap<string, JsonNode>;
}

export interface JsonArray {
  readonly kind: 'array';
  readonly items: readonly JsonNode[];
}

/** May contain unpaired surrogates, which JSON can represent and UTF-8 cannot. */
export interface JsonString {
  readonly kind: 'string';
  readonly value: string;
}

/** The number as written. */
export interface JsonNumber {
  readonly kind: 'number';
  readonly text: string;
}

export interface JsonBoolean {
  readonly kind: 'boolean';
  readonly value: boolean;
}

export interface JsonNull {
  readonly kind: 'null';
}

/** A raw value: a view into the text, without surrounding white space. */
export interface JsonRaw {
  readonly kind: 'raw';
  readonly bytes: Uint8Array;
}

/** Why a text is not JSON. */
export interface JsonFault {
  readonly kind: 'fault';
  /** Offset of the first invalid byte. */
  readonly offset: number;
  /** 1-based; the column counts characters. */
  readonly line: number;
  readonly column: number;
  /** A sentence with position, expected and actual character. */
  readonly message: string;
  /** The text may be JSON, but has more values than allowed. */
  readonly isTooLarge: boolean;
}

export interface JsonOptions {
  /** Names of members whose values are kept raw, at any depth. */
  readonly raw?: ReadonlySet<string>;
  /** Maximum number of values; a raw one counts as one. Default: `JSON_VALUES_MAX`. */
  readonly valuesMax?: number;
}

/** The names under which events carry payloads. */
export const RAW_DATA: ReadonlySet<string> = new Set(['data']);
const NO_NAMES: ReadonlySet<string> = new Set();
const QUOTE = 0x22;
const NULL: JsonNull = Object.freeze({ kind: 'null' });

/** Reads one JSON value with optional surrounding white space. */
export function parseJson(bytes: Uint8Array, options: JsonOptions = {}): JsonNode | JsonFault {
  const at = spaceEnd(bytes, 0, bytes.length);
  const { raw = NO_NAMES, valuesMax = JSON_VALUES_MAX } = options;
  const reading: Reading = { bytes, at, raw, valuesMax, valuesLeft: valuesMax };
  const node = parseValue(reading, 0);
  if (node !== undefined) {
    skipSpace(reading);
    if (reading.at === bytes.length) return node;
    fail(reading.at, 'the end of the text');
  }
  return { ...faultAt(bytes, mismatch.offset, mismatch.expected), isTooLarge: reading.valuesLeft < 0 };
}

/** State of reading one text. A parser that returns undefined or false leaves its reason in `mismatch`. */
interface Reading {
  readonly bytes: Uint8Array;
  at: number;
  readonly raw: ReadonlySet<string>;
  readonly valuesMax: number;
  /** Negative once the text has too many values. */
  valuesLeft: number;
}

function parseValue(reading: Reading, depth: number): JsonNode | undefined {
  reading.valuesLeft--;
  if (reading.valuesLeft < 0) {
    fail(reading.at, `at most ${reading.valuesMax} values`);
    return undefined;
  }
  const first = reading.bytes[reading.at];
  if (first === 0x7b) return parseObject(reading, depth);
  if (first === 0x5b) return parseArray(reading, depth);
  if (first !== QUOTE) return parseScalar(reading);
  const value = parseString(reading);
  return value === undefined ? undefined : { kind: 'string', value };
}

function parseScalar(reading: Reading): JsonNode | undefined {
  const { bytes, at } = reading;
  if (!moved(reading, scalarEnd(bytes, at, bytes.length))) return undefined;
  const text = decodeUtf8(bytes, at, reading.at) ?? '';
  if (text === 'null') return NULL;
  if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true' };
  return { kind: 'number', text };
}

function parseObject(reading: Reading, depth: number): JsonObject | undefined {
  const members = new Map<string, JsonNode>();
  if (!enter(reading, depth)) return undefined;
  if (closes(reading, 0x7d)) return { kind: 'object', members };
  for (;;) {
    const nameAt = reading.at;
    const name = parseName(reading);
    if (name === undefined) return undefined;
    if (members.has(name)) {
      fail(nameAt, `each name once in an object, but ${quote(name)} is repeated`);
      return undefined;
    }
    const node = reading.raw.has(name) ? parseRaw(reading, depth + 1) : parseValue(reading, depth + 1);
    if (node === undefined) return undefined;
    members.set(name, node);
    skipSpace(reading);
    if (closes(reading, 0x7d)) return { kind: 'object', members };
    if (!separates(reading, '"," or "}"')) return undefined;
  }
}

function parseArray(reading: Reading, depth: number): JsonArray | undefined {
  const items: JsonNode[] = [];
  if (!enter(reading, depth)) return undefined;
  if (closes(reading, 0x5d)) return { kind: 'array', items };
  for (;;) {
    const node = parseValue(reading, depth + 1);
    if (node === undefined) return undefined;
    items.push(node);
    skipSpace(reading);
    if (closes(reading, 0x5d)) return { kind: 'array', items };
    if (!separates(reading, '"," or "]"')) return undefined;
  }
}

/** Moves to the end of a part, unless it is not JSON. */
function moved(reading: Reading, end: number): boolean {
  if (end === NOT_JSON) return false;
  reading.at = end;
  return true;
}

function skipSpace(reading: Reading): void {
  reading.at = spaceEnd(reading.bytes, reading.at, reading.bytes.length);
}

/** Skips the opening bracket. */
function enter(reading: Reading, depth: number): boolean {
  if (depth >= JSON_DEPTH_MAX) return moved(reading, fail(reading.at, DEPTH_RULE));
  reading.at++;
  skipSpace(reading);
  return true;
}

function closes(reading: Reading, bracket: number): boolean {
  if (reading.bytes[reading.at] !== bracket) return false;
  reading.at++;
  return true;
}

function separates(reading: Reading, expected: string): boolean {
  if (!closes(reading, 0x2c)) return moved(reading, fail(reading.at, expected));
  skipSpace(reading);
  return true;
}

function parseName(reading: Reading): string | undefined {
  const { bytes, at } = reading;
  if (!moved(reading, nameTextEnd(bytes, at, bytes.length))) return undefined;
  const name = textBetween(bytes, at + 1, reading.at - 1);
  return moved(reading, colonEnd(bytes, reading.at, bytes.length)) ? name : undefined;
}

function parseRaw(reading: Reading, depth: number): JsonRaw | undefined {
  const { bytes, at } = reading;
  const isJson = moved(reading, valueEnd(bytes, at, bytes.length, depth));
  return isJson ? { kind: 'raw', bytes: bytes.subarray(at, reading.at) } : undefined;
}

function parseString(reading: Reading): string | undefined {
  const { bytes, at } = reading;
  const isJson = moved(reading, stringEnd(bytes, at + 1, bytes.length));
  return isJson ? textBetween(bytes, at + 1, reading.at - 1) : undefined;
}

/** Text of a string whose quotes are at `from - 1` and `to`. */
function textBetween(bytes: Uint8Array, from: number, to: number): string {
  const text = decodeUtf8(bytes, from, to) ?? '';
  return text.includes('\\') ? unescape(text) : text;
}

/** Every escape was validated. The platform's parser is many times faster than our own code. */
function unescape(text: string): string {
  const value: unknown = JSON.parse(`"${text}"`);
  assert(typeof value === 'string', 'A string that was scanned is one', text);
  return value;
}

/** The text of a raw value that is a string; undefined when it is no string. */
export function textOfRaw({ bytes }: JsonRaw): string | undefined {
  return bytes[0] === QUOTE ? textBetween(bytes, 1, bytes.length - 1) : undefined;
}

function faultAt(bytes: Uint8Array, offset: number, expected: string): JsonFault {
  let line = 1;
  let column = 1;
  for (let i = 0; i < offset; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x0a) {
      line++;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80) column++;
  }
  const message = `line ${line}, column ${column}: expected ${expected}; found ${found(bytes, offset)}`;
  return { kind: 'fault', offset, line, column, message, isTooLarge: false };
}

const SHOWN_LENGTH_MAX = 16;

function found(bytes: Uint8Array, offset: number): string {
  if (offset >= bytes.length) return 'the end';
  const rest = bytes.subarray(offset, offset + SHOWN_LENGTH_MAX * 4);
  const illFormed = indexOfIllFormed(rest);
  if (illFormed === 0) return `the byte 0x${(rest[0] ?? 0).toString(16).padStart(2, '0')}`;
  const text = decodeUtf8(rest, 0, illFormed === -1 ? rest.length : illFormed) ?? '';
  return quote(Array.from(text).slice(0, SHOWN_LENGTH_MAX).join(''));
}
