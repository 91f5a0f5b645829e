/**
 * Encoding of values between processes: a tag byte, then its contents.
 *
 *   00 undefined   01 false   02 true   03 double, 8 bytes   04 integer, varint   05 bigint, 8 bytes   06 and a sign
 *   07 text        08 bytes   09 list   0a record            0b handle, varint
 *
 * Text and bytes follow their length, lists and records their count; a record alternates names and values. The other
 * process is not trusted, so the depth is bounded; truncated or unknown input reads as undefined, and marks the reader
 * or the result as `failed`.
 *
 *   G14 A written value reads back unchanged; no input makes the reader throw, loop or take more memory than a multiple
 *       of its length.
 */
import { type ByteReader, type ByteWriter, type Field, fail, TEXT, VIEW, valid } from '#base';
import { Handle, isList, isRecord, record, type Value, type ValueList } from './values.ts';

const TAG = {
  undefined: 0x00,
  false: 0x01,
  true: 0x02,
  double: 0x03,
  integer: 0x04,
  bigint: 0x05,
  text: 0x07,
  bytes: 0x08,
  list: 0x09,
  record: 0x0a,
  handle: 0x0b,
} as const;
const DEPTH_MAX = 64;

export function writeValue(writer: ByteWriter, value: Value): void {
  if (value === undefined) writer.u8(TAG.undefined);
  else if (typeof value === 'boolean') writer.u8(value ? TAG.true : TAG.false);
  else if (typeof value === 'number') writeNumber(writer, value);
  else if (typeof value === 'bigint') writeBigint(writer, value);
  else if (typeof value === 'string') {
    writer.u8(TAG.text);
    TEXT.write(writer, value);
  } else if (value instanceof Uint8Array) {
    writer.u8(TAG.bytes);
    VIEW.write(writer, value);
  } else writeCompound(writer, value);
}

function writeCompound(writer: ByteWriter, value: Value): void {
  if (value instanceof Handle) {
    if (value.home !== undefined) throw new TypeError('A resource of a guest stays in its process');
    writer.u8(TAG.handle);
    writer.varint(value.id);
  } else if (isRecord(value)) {
    const entries = Object.entries(value);
    writer.u8(TAG.record);
    writer.varint(entries.length);
    for (const [name, part] of entries) {
      TEXT.write(writer, name);
      writeValue(writer, part);
    }
  } else if (isList(value)) {
    writer.u8(TAG.list);
    writer.varint(value.length);
    for (const item of value) writeValue(writer, item);
  }
}

function writeNumber(writer: ByteWriter, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)) {
    writer.u8(TAG.integer);
    writer.varint(value);
    return;
  }
  writer.u8(TAG.double);
  SCRATCH.setFloat64(0, value);
  writer.bytes(SCRATCH_BYTES);
}

function writeBigint(writer: ByteWriter, value: bigint): void {
  writer.u8(value < 0n ? TAG.bigint + 1 : TAG.bigint);
  SCRATCH.setBigInt64(0, value);
  writer.bytes(SCRATCH_BYTES);
}

const SCRATCH_BYTES = new Uint8Array(8);
const SCRATCH = new DataView(SCRATCH_BYTES.buffer);

/** Byte arrays are views into the input. Returns undefined and sets `failed` when the input is malformed. */
export function readValue(reader: ByteReader, depth: number = 0): Value {
  const tag = reader.u8();
  switch (tag) {
    case TAG.undefined:
      return undefined;
    case TAG.false:
    case TAG.true:
      return tag === TAG.true;
    case TAG.double:
      return eightBytes(reader).getFloat64(0);
    case TAG.integer:
      return reader.varint();
    case TAG.bigint:
      return eightBytes(reader).getBigUint64(0);
    case TAG.bigint + 1:
      return eightBytes(reader).getBigInt64(0);
    case TAG.text:
      return TEXT.read(reader);
    case TAG.bytes:
      return VIEW.read(reader);
    case TAG.handle:
      return new Handle(reader.varint());
    default:
      return readCompound(reader, tag, depth);
  }
}

function readCompound(reader: ByteReader, tag: number, depth: number): Value {
  const isKnown = tag === TAG.list || tag === TAG.record;
  const count = reader.varint();
  // Each part takes at least one byte, so a larger count is invalid.
  if (!isKnown || depth >= DEPTH_MAX || count > reader.left) {
    return fail(reader);
  }
  const each = function* <Part>(read: () => Part): Generator<Part> {
    for (let left = count; left > 0 && !reader.failed; left--) yield read();
  };
  if (tag === TAG.list) return [...each(() => readValue(reader, depth + 1))];
  return record(each((): [string, Value] => [TEXT.read(reader), readValue(reader, depth + 1)]));
}

function eightBytes(reader: ByteReader): DataView {
  const bytes = reader.bytes(8);
  return bytes.length === 8 ? new DataView(bytes.buffer, bytes.byteOffset, 8) : SCRATCH;
}

export const VALUE: Field<Value> = { write: writeValue, read: (reader) => readValue(reader) };
export const VALUES: Field<ValueList> = valid(VALUE, isList);
export const BIGINT: Field<bigint> = valid(VALUE, (value) => typeof value === 'bigint');
