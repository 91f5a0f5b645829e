/**
 * Decompresses Snappy, for the index blocks of tables that were written with compression.
 *
 * A block is the length of what comes out as a varint, then literals and copies: a tag's two low bits say which, the
 * rest its length, and for a copy how far back the bytes stand that it repeats, which may be its own.
 */
import { ByteReader } from '#base';

const LITERAL = 0;
const COPY_1 = 1;
const COPY_2 = 2;
/** Literals of this length code and above have their length in one to four bytes of its own. */
const LONG_LITERAL = 60;

/** Undefined when the bytes are not Snappy, or would become more than `bytesMax`. */
export function unsnappy(compressed: Uint8Array, bytesMax: number): Uint8Array | undefined {
  const reader = new ByteReader(compressed);
  const length = reader.varint();
  if (reader.failed || length > bytesMax) return undefined;
  const out = new Uint8Array(length);
  let at = 0;
  while (reader.left > 0 && !reader.failed) {
    const next = readElement(reader, out, at);
    if (next === undefined) return undefined;
    at = next;
  }
  return reader.failed || at !== length ? undefined : out;
}

/** Where the output goes on after the next element. */
function readElement(reader: ByteReader, out: Uint8Array, at: number): number | undefined {
  const tag = reader.u8();
  const kind = tag & 3;
  if (kind === LITERAL) {
    const literal = reader.bytes(literalLength(reader, tag >> 2));
    if (at + literal.length > out.length) return undefined;
    out.set(literal, at);
    return at + literal.length;
  }
  const length = kind === COPY_1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
  const back = backDistance(reader, kind, tag);
  if (back === 0 || back > at || at + length > out.length) return undefined;
  for (let i = at; i < at + length; i++) out[i] = out[i - back] ?? 0;
  return at + length;
}

function literalLength(reader: ByteReader, code: number): number {
  if (code < LONG_LITERAL) return code + 1;
  let length = 0;
  for (let i = 0; i <= code - LONG_LITERAL; i++) length += reader.u8() * 2 ** (8 * i);
  return length + 1;
}

function backDistance(reader: ByteReader, kind: number, tag: number): number {
  if (kind === COPY_1) return ((tag >> 5) << 8) | reader.u8();
  return kind === COPY_2 ? reader.u8() | (reader.u8() << 8) : reader.u32le();
}
