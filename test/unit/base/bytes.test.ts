// Goal: written values are read back (B3), and checksums, digits and ids equal those of the platform. Method:
// properties with a second implementation: BigInt varints, Buffer, zlib, node:crypto.
import { crc32 as zlibCrc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteReader, ByteWriter, crc32, giveBack, parseHex, toHex, uuidv7, varintLength } from '#base';

const bytes = fc.uint8Array({ maxLength: 200 });
const u53 = fc.oneof(
  fc.nat(),
  fc.maxSafeNat(),
  fc.integer({ min: 0, max: 52 }).map((power) => 2 ** power),
);

function slowVarint(value: number): number[] {
  const out: number[] = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return [...out, Number(rest)];
}

it('ByteWriter and ByteReader (B3) write and read varints like protobuf', () => {
  fc.assert(
    fc.property(u53, (value) => {
      const writer = new ByteWriter(1);
      writer.varint(value);
      expect(varintLength(value)).toBe(writer.length);
      expect([...writer.view()]).toEqual(slowVarint(value));
      const reader = new ByteReader(writer.take());
      expect([reader.varint(), reader.left, reader.failed]).toEqual([value, 0, false]);
    }),
  );
});

it('ByteWriter and ByteReader (B3) read back all values in order', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('varint', 'u64be', 'u64le'), value: u53 }),
    fc.record({ kind: fc.constantFrom('u32be', 'u32le'), value: fc.nat(0xffffffff) }),
    fc.record({ kind: fc.constant('u16be'), value: fc.nat(0xffff) }),
    fc.record({ kind: fc.constant('u8'), value: fc.nat(0xff) }),
    fc.record({ kind: fc.constant('zigzag'), value: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }) }),
  );
  fc.assert(
    fc.property(fc.array(step), bytes, fc.string({ unit: 'binary' }), (steps, part, text) => {
      const writer = new ByteWriter(1);
      for (const { kind, value } of steps) (writer as unknown as Record<string, (n: number) => void>)[kind]?.(value);
      writer.bytes(part);
      writer.slice(part, 0, part.length);
      const textBytes = writer.utf8(text);
      const reader = new ByteReader(writer.take());
      expect(writer.length).toBe(0);
      for (const { kind, value } of steps) {
        expect((reader as unknown as Record<string, () => number>)[kind]?.()).toBe(value);
      }
      expect(reader.bytes(part.length)).toEqual(part);
      expect(reader.bytes(part.length)).toEqual(part);
      expect(reader.utf8(textBytes)).toBe(text);
      expect([reader.left, reader.failed]).toEqual([0, false]);
    }),
  );
});

it.each([
  ['a varint without an end', [0x80, 0x80], (r: ByteReader) => r.varint()],
  ['a varint of 11 bytes', Array<number>(11).fill(0x80), (r: ByteReader) => r.varint()],
  ['a varint of 2 bytes for 0', [0x80, 0], (r: ByteReader) => r.varint()],
  ['a varint of 2 bytes for 127', [0xff, 0], (r: ByteReader) => r.varint()],
  ['a varint of 3 bytes for 128', [0x80, 0x81, 0], (r: ByteReader) => r.varint()],
  ['a varint of 10 bytes for 1', [0x81, ...Array<number>(8).fill(0x80), 0], (r: ByteReader) => r.varint()],
  ['a signed varint of 2 bytes for -1', [0x81, 0], (r: ByteReader) => r.zigzag()],
  ['a varint above 2^53 - 1', [...Array<number>(7).fill(0xff), 0x7f], (r: ByteReader) => r.varint()],
  ['a u64 above 2^53 - 1', Array<number>(8).fill(0xff), (r: ByteReader) => r.u64be()],
  ['a u32 of 3 bytes', [1, 2, 3], (r: ByteReader) => r.u32le()],
  ['bytes past the end', [1, 2, 3], (r: ByteReader) => r.bytes(4).length],
  ['a negative count of bytes', [1, 2, 3], (r: ByteReader) => r.bytes(-1).length],
  ['text that is not UTF-8', [0xc3, 0x28], (r: ByteReader) => r.utf8(2).length],
  ['a skip past the end', [1], (r: ByteReader) => r.skip(2)],
])('ByteWriter and ByteReader (B3) fail at %s, and keep failing', (_name, input, read) => {
  const reader = new ByteReader(Uint8Array.from(input));
  read(reader);
  expect(reader.failed).toBe(true);
  reader.at = 0;
  reader.u8();
  expect(reader.failed).toBe(true);
});

it('crc32 equals zlib for any bytes, at once or in parts', () => {
  fc.assert(
    fc.property(bytes, fc.nat(200), (input, cut) => {
      const at = Math.min(cut, input.length);
      expect(crc32(input)).toBe(zlibCrc32(input));
      expect(crc32(input, at, input.length, crc32(input, 0, at))).toBe(zlibCrc32(input));
    }),
  );
});

it('hexadecimal text is encoded and decoded, and other text is rejected', () => {
  fc.assert(
    fc.property(bytes, (input) => {
      expect(parseHex(toHex(input))).toEqual(input);
    }),
  );
  expect([parseHex('abc'), parseHex('zz'), parseHex('0A')]).toEqual([undefined, undefined, Uint8Array.of(10)]);
});

it('UUIDs of version 7 contain their time and their version', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      fc.uint8Array({ minLength: 10, maxLength: 10 }),
      (at, random) => {
        const text = uuidv7(at, { bytes: () => random });
        expect(text).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(text.slice(0, 13).replace('-', ''), 16)).toBe(at);
      },
    ),
  );
});

it('giveBack detaches an array that fills its buffer, except for a given header', () => {
  const own = new Uint8Array(5000);
  giveBack(own);
  const framed = new Uint8Array(5005);
  giveBack(framed.subarray(5), 5);
  expect([own.length, framed.length]).toEqual([0, 0]);
});

it('giveBack ignores small arrays, and arrays whose buffer has other content', () => {
  const small = new Uint8Array(4000);
  const part = new Uint8Array(10_000).subarray(0, 5000);
  giveBack(small);
  giveBack(part, 4999);
  expect([small.length, part.length]).toEqual([4000, 5000]);
});
