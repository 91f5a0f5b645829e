/** Writes protobuf fields into a `ByteWriter`. The caller omits fields with default values. */
import type { ByteWriter } from './byte-writer.ts';

/** The wire types that Cairn writes. */
export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;

const TWO_32 = 2 ** 32;
const SIGNED_VARINT_BYTES = 10;

export function writeTag(writer: ByteWriter, field: number, wireType: number): void {
  writer.varint(field * 8 + wireType);
}

/** A safe integer of 0 or more. */
export function writeVarintField(writer: ByteWriter, field: number, value: number): void {
  writeTag(writer, field, WIRE_VARINT);
  writer.varint(value);
}

/** A safe integer as int32 and int64 write it: two's complement of 64 bits, so ten bytes when negative. */
export function writeSignedField(writer: ByteWriter, field: number, value: number): void {
  writeTag(writer, field, WIRE_VARINT);
  if (value >= 0) {
    writer.varint(value);
    return;
  }
  let low = value >>> 0;
  let high = Math.floor(value / TWO_32) >>> 0;
  for (let i = 1; i < SIGNED_VARINT_BYTES; i++) {
    writer.u8((low & 0x7f) | 0x80);
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  writer.u8(low & 0x7f);
}

export function writeBytesField(writer: ByteWriter, field: number, value: Uint8Array): void {
  writeTag(writer, field, WIRE_BYTES);
  writer.varint(value.length);
  writer.bytes(value);
}

export function writeTextField(writer: ByteWriter, field: number, value: string): void {
  const mark = beginMessage(writer, field);
  writer.utf8(value);
  writer.endLength(mark);
}

/** Begins an embedded message; end it with `writer.endLength(mark)`. */
export function beginMessage(writer: ByteWriter, field: number): number {
  writeTag(writer, field, WIRE_BYTES);
  return writer.beginLength();
}
