/**
 * A strict, lossless reader of JSON (M8).
 *
 * Numbers stay text, and objects are Maps, so that no name is special; duplicate names are refused; depth and number of
 * values are limited; the text must be UTF-8 without a byte order mark. Values of members named in `raw` (event
 * payloads) are checked to be JSON and kept as their own bytes; their contents, even duplicate names, are not checked.
 */
import { assert, decodeUtf8, indexOfIllFormed, quote } from '#base';
import { JsonScanner } from './json-scan.ts';
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
}

/** The names under which events carry payloads. */
export const RAW_DATA: ReadonlySet<string> = new Set(['data']);
const NO_NAMES: ReadonlySet<string> = new Set();
const NULL: JsonNull = Object.freeze({ kind: 'null' });

/** Reads one JSON value with optional surrounding white space. */
export function parseJson(bytes: Uint8Array, options: JsonOptions = {}): JsonNode | JsonFault {
  const illFormed = indexOfIllFormed(bytes);
  if (illFormed !== -1) return faultAt(bytes, illFormed, 'well-formed UTF-8');
  const scanner = new JsonScanner(bytes, 0, bytes.length);
  scanner.skipSpace();
  const reading: Reading = { raw: options.raw ?? NO_NAMES, valuesLeft: JSON_VALUES_MAX };
  const node = parseValue(scanner, reading, 0);
  if (node !== undefined) {
    scanner.skipSpace();
    if (scanner.at === bytes.length) return node;
    scanner.fail('the end of the text');
  }
  const { mismatch } = scanner;
  assert(mismatch !== undefined, 'A text that is not parsed has a mismatch');
  return { ...faultAt(bytes, mismatch.offset, mismatch.expected), isTooLarge: reading.valuesLeft < 0 };
}

/** State of reading one text. */
interface Reading {
  readonly raw: ReadonlySet<string>;
  /** Negative once the text has too many values. */
  valuesLeft: number;
}

/** Undefined with the scanner's mismatch set. */
function parseValue(scanner: JsonScanner, reading: Reading, depth: number): JsonNode | undefined {
  reading.valuesLeft--;
  if (reading.valuesLeft < 0) {
    scanner.fail(`at most ${JSON_VALUES_MAX} values`);
    return undefined;
  }
  switch (scanner.peek()) {
    case 0x7b:
      return parseObject(scanner, reading, depth);
    case 0x5b:
      return parseArray(scanner, reading, depth);
    case 0x22: {
      const value = parseString(scanner);
      return value === undefined ? undefined : { kind: 'string', value };
    }
    default:
      return parseScalar(scanner);
  }
}

function parseScalar(scanner: JsonScanner): JsonNode | undefined {
  const start = scanner.at;
  if (!scanner.scalar()) return undefined;
  const text = decodeUtf8(scanner.bytes, start, scanner.at) ?? '';
  if (text === 'null') return NULL;
  if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true' };
  return { kind: 'number', text };
}

function parseObject(scanner: JsonScanner, reading: Reading, depth: number): JsonObject | undefined {
  const members = new Map<string, JsonNode>();
  if (!enter(scanner, depth)) return undefined;
  if (closes(scanner, 0x7d)) return { kind: 'object', members };
  for (;;) {
    const nameAt = scanner.at;
    const name = parseName(scanner);
    if (name === undefined) return undefined;
    if (members.has(name)) {
      scanner.fail(`each name once in an object, but ${quote(name)} is repeated`, nameAt);
      return undefined;
    }
    const node = reading.raw.has(name) ? parseRaw(scanner, depth + 1) : parseValue(scanner, reading, depth + 1);
    if (node === undefined) return undefined;
    members.set(name, node);
    scanner.skipSpace();
    if (closes(scanner, 0x7d)) return { kind: 'object', members };
    if (!separates(scanner, '"," or "}"')) return undefined;
  }
}

function parseArray(scanner: JsonScanner, reading: Reading, depth: number): JsonArray | undefined {
  const items: JsonNode[] = [];
  if (!enter(scanner, depth)) return undefined;
  if (closes(scanner, 0x5d)) return { kind: 'array', items };
  for (;;) {
    const node = parseValue(scanner, reading, depth + 1);
    if (node === undefined) return undefined;
    items.push(node);
    scanner.skipSpace();
    if (closes(scanner, 0x5d)) return { kind: 'array', items };
    if (!separates(scanner, '"," or "]"')) return undefined;
  }
}

/** Skips the opening bracket. */
function enter(scanner: JsonScanner, depth: number): boolean {
  if (depth >= JSON_DEPTH_MAX) return scanner.fail(`at most ${JSON_DEPTH_MAX} levels`);
  scanner.at++;
  scanner.skipSpace();
  return true;
}

function closes(scanner: JsonScanner, bracket: number): boolean {
  if (scanner.peek() !== bracket) return false;
  scanner.at++;
  return true;
}

function separates(scanner: JsonScanner, expected: string): boolean {
  if (scanner.peek() !== 0x2c) return scanner.fail(expected);
  scanner.at++;
  scanner.skipSpace();
  return true;
}

function parseName(scanner: JsonScanner): string | undefined {
  const start = scanner.at + 1;
  if (!scanner.nameText()) return undefined;
  const name = textBetween(scanner.bytes, start, scanner.at - 1);
  return scanner.colon() ? name : undefined;
}

function parseRaw(scanner: JsonScanner, depth: number): JsonRaw | undefined {
  const start = scanner.at;
  return scanner.value(depth) ? { kind: 'raw', bytes: scanner.bytes.subarray(start, scanner.at) } : undefined;
}

function parseString(scanner: JsonScanner): string | undefined {
  const start = scanner.at + 1;
  return scanner.string() ? textBetween(scanner.bytes, start, scanner.at - 1) : undefined;
}

/** Text of a string whose quotes are at `from - 1` and `to`. */
function textBetween(bytes: Uint8Array, from: number, to: number): string {
  const text = decodeUtf8(bytes, from, to) ?? '';
  return text.includes('\\') ? unescape(text) : text;
}

/** The scanner has validated every escape. The platform's parser is many times faster than our own code. */
function unescape(text: string): string {
  const value: unknown = JSON.parse(`"${text}"`);
  assert(typeof value === 'string', 'A string that was scanned is one', text);
  return value;
}

/** The text of a raw value that is a string; undefined when it is no string. */
export function textOfRaw({ bytes }: JsonRaw): string | undefined {
  return bytes[0] === 0x22 ? parseString(new JsonScanner(bytes, 0, bytes.length)) : undefined;
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
