// Goal: protobuf fields are read as they were written, and no bytes make the reader throw or read beyond its range
// (B3). Method: expected bytes for each writer; random values written and read; random, truncated and malicious bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ByteWriter,
  beginMessage,
  concatBytes,
  decodeUtf8,
  hasBytesAt,
  ProtoReader,
  parseHex,
  toHex,
  WIRE_BYTES,
  WIRE_FIXED64,
  WIRE_VARINT,
  writeBytesField,
  writeSignedField,
  writeTag,
  writeTextField,
  writeVarintField,
} from '#base';

const bytes = (hex: string): Uint8Array => parseHex(hex) ?? expect.fail(`bad hex ${hex}`);

function written(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(1);
  write(writer);
  return writer.take();
}

it.each([
  ['a varint field', '080a', (w: ByteWriter) => writeVarintField(w, 1, 10)],
  ['a varint field above 15', '80010a', (w: ByteWriter) => writeVarintField(w, 16, 10)],
  ['-1', '08ffffffffffffffffff01', (w: ByteWriter) => writeSignedField(w, 1, -1)],
  ['300 as a signed field', '08ac02', (w: ByteWriter) => writeSignedField(w, 1, 300)],
  ['text', '0a03c3a962', (w: ByteWriter) => writeTextField(w, 1, 'éb')],
  ['bytes', '7a0101', (w: ByteWriter) => writeBytesField(w, 15, bytes('01'))],
  ['an empty message', '3200', (w: ByteWriter) => w.endLength(beginMessage(w, 6))],
] as const)('protobuf fields write %s', (_what, hex, write) => {
  expect(toHex(written(write))).toBe(hex);
});

it('protobuf fields move a message when its length needs more than one byte', () => {
  const message = written((writer) => {
    const outer = beginMessage(writer, 1);
    const inner = beginMessage(writer, 2);
    writer.bytes(new Uint8Array(200).fill(7));
    writer.endLength(inner);
    writer.endLength(outer);
  });
  expect(toHex(message.subarray(0, 6))).toBe('0acb0112c801');
  expect(message.subarray(6)).toEqual(new Uint8Array(200).fill(7));
});

it('protobuf fields are read back for any values', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.maxSafeNat(),
      fc.maxSafeInteger(),
      (text, unsigned, signed) => {
        const message = written((writer) => {
          writeTextField(writer, 1, text);
          writeVarintField(writer, 2, unsigned);
          writeSignedField(writer, 3, signed);
          writeTag(writer, 4, WIRE_FIXED64);
          writer.u64le(unsigned);
        });
        const reader = new ProtoReader(message);
        expect(reader.tag()).toBe(8 + WIRE_BYTES);
        const start = reader.lengthDelimited();
        expect(decodeUtf8(message, start, reader.at)).toBe(text);
        expect([reader.tag(), reader.varint()]).toEqual([16 + WIRE_VARINT, unsigned]);
        expect([reader.tag(), reader.signedVarint()]).toEqual([24 + WIRE_VARINT, signed]);
        expect([reader.tag(), reader.fixed64()]).toEqual([32 + WIRE_FIXED64, unsigned]);
        expect([reader.done, reader.failed, reader.overlong]).toEqual([true, false, false]);
      },
    ),
  );
});

describe('ProtoReader (B3)', () => {
  it.each([
    ['0', '00', 0, 0],
    ['300', 'ac02', 300, 300],
    ['2^53 - 1', 'ffffffffffffff0f', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['2^53', '8080808080808010', 2n ** 53n, 2n ** 53n],
    ['2^53 + 1', '8180808080808010', 2n ** 53n + 1n, 2n ** 53n + 1n],
    ['2^63', '80808080808080808001', 2n ** 63n, -(2n ** 63n)],
    ['2^64 - 1', 'ffffffffffffffffff01', 2n ** 64n - 1n, -1],
    ['2^64 - 2^53', '80808080808080f0ff01', 2n ** 64n - 2n ** 53n, -(2n ** 53n)],
    ['2^64 - 2^53 + 1', '81808080808080f0ff01', 2n ** 64n - 2n ** 53n + 1n, -Number.MAX_SAFE_INTEGER],
    ['2^64 + 5, of which 64 bits are kept', '85808080808080808002', 5, 5],
  ] as const)('reads the uint64 %s exactly, and as an int64', (_what, hex, unsigned, signed) => {
    const reader = new ProtoReader(bytes(hex));
    expect(reader.uint64()).toBe(unsigned);
    expect(reader).toMatchObject({ done: true, failed: false });
    expect(new ProtoReader(bytes(hex)).int64()).toBe(signed);
  });

  it.each([
    ['a varint that ends in the middle', '80', (r: ProtoReader) => r.varint()],
    ['a varint of 2^53', '8080808080808010', (r: ProtoReader) => r.varint()],
    ['a signed varint below -2^53', '80808080808080808001', (r: ProtoReader) => r.signedVarint()],
    ['a fixed64 of seven bytes', '01020304050607', (r: ProtoReader) => r.fixed64()],
    ['a fixed64 beyond 2^53', 'ffffffffffffffff', (r: ProtoReader) => r.fixed64()],
    ['a length beyond the end', '05aabb', (r: ProtoReader) => r.lengthDelimited()],
    ['a tag of field 0', '02', (r: ProtoReader) => r.tag()],
    ['a tag beyond 32 bits', '8080808010', (r: ProtoReader) => r.tag()],
    ['nothing', '', (r: ProtoReader) => r.varint()],
    ['a uint64 that ends in the middle', 'ffffffff', (r: ProtoReader) => r.uint64()],
  ] as const)('fails on %s and stays at the end', (_what, hex, read) => {
    const reader = new ProtoReader(bytes(hex));
    expect(read(reader)).toBe(0);
    expect([reader.failed, reader.done]).toEqual([true, true]);
  });

  it.each([
    ['8000', 0],
    ['ff00', 127],
    ['80808000', 0],
  ])('reads the overlong varint %s and reports it', (hex, value) => {
    const unsigned = new ProtoReader(bytes(hex));
    expect([unsigned.varint(), unsigned.overlong, unsigned.failed]).toEqual([value, true, false]);
    const signed = new ProtoReader(bytes(hex));
    expect([signed.signedVarint(), signed.overlong, signed.failed]).toEqual([value, true, false]);
  });

  it.each<readonly [string, (reader: ProtoReader) => unknown]>([
    ['varint', (reader) => reader.varint()],
    ['uint64', (reader) => reader.uint64()],
    ['int64', (reader) => reader.int64()],
    ['signed varint', (reader) => reader.signedVarint()],
    ['tag', (reader) => reader.tag()],
    ['length', (reader) => reader.lengthDelimited()],
    ['varint that is skipped', (reader) => reader.skipField(8 + WIRE_VARINT)],
  ])('reads a %s of ten bytes even for a small value, and fails on one of eleven', (_what, read) => {
    const padded = (count: number): ProtoReader =>
      new ProtoReader(bytes(`8a${'80'.repeat(count - 2)}00${'2a'.repeat(10)}`));
    const [ten, eleven] = [padded(10), padded(11)];
    read(ten);
    read(eleven);
    expect([ten.failed, ten.done, eleven.failed, eleven.done]).toEqual([false, ten.at === 20, true, true]);
    expect(eleven.at).toBe(21);
  });

  it('drops the bits beyond 64 of a signed varint and reports it', () => {
    const reader = new ProtoReader(bytes('ffffffffffffffffff1f'));
    expect([reader.signedVarint(), reader.overlong, reader.failed]).toEqual([-1, true, false]);
  });

  it.each([
    ['a varint', 8 + WIRE_VARINT, '8001'],
    ['eight bytes', 8 + WIRE_FIXED64, '0102030405060708'],
    ['a length and its bytes', 8 + WIRE_BYTES, '02aabb'],
    ['four bytes', 8 + 5, '01020304'],
    ['a group with a field and a group inside', 8 + 3, '10011b1c0c'],
  ])('skips %s', (_what, tag, hex) => {
    const reader = new ProtoReader(bytes(`${hex}2a`));
    reader.skipField(tag);
    expect([reader.failed, reader.varint()]).toEqual([false, 0x2a]);
  });

  it.each([
    ['a group that is closed by another', 8 + 3, '14'],
    ['a group that is not closed', 8 + 3, '1001'],
    ['a group end without a group', 8 + 4, ''],
    ['wire type 7', 8 + 7, '00'],
    ['groups nested without end', 8 + 3, '0b'.repeat(100)],
  ])('fails on %s', (_what, tag, hex) => {
    const reader = new ProtoReader(bytes(hex));
    reader.skipField(tag);
    expect(reader.failed).toBe(true);
  });

  it('reads any bytes as fields without an exception and within its range', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(20), (random, margin) => {
        const padded = concatBytes([random, new Uint8Array(margin).fill(0x80)]);
        const reader = new ProtoReader(padded, 0, random.length);
        while (!reader.done) {
          reader.skipField(reader.tag());
          expect(reader.at).toBeLessThanOrEqual(random.length);
        }
      }),
    );
  });
});

it('byte ranges contain a part only when all of it is in the range', () => {
  const whole = bytes('01020304');
  expect(hasBytesAt(whole, 1, bytes('0203'))).toBe(true);
  expect(hasBytesAt(whole, 2, bytes('0203'))).toBe(false);
  expect(hasBytesAt(whole, 3, bytes('0405'))).toBe(false);
  expect(hasBytesAt(whole, 4, bytes(''))).toBe(true);
});
