// Goal: keys sort like the tuples that they encode (K7), and a prefix is one range (K8). Method: random pairs of tuples
// compared by their parts, and tables of the limits.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokenInvariant, compareBytes } from '#base';
import { KeyWriter, prefixEnd, readTerm, readU16, readU32, readU64 } from '#kv';
import { runs } from '../../support/runs.ts';

const utf8 = new TextEncoder();

interface Tuple {
  readonly group: number;
  readonly term: string;
  readonly revision: number;
  readonly index: number;
}

const plain = fc.string().map((s) => s.replaceAll('\0', ''));
const tuples: fc.Arbitrary<Tuple> = fc.record({
  group: fc.oneof(fc.constantFrom(0, 1, 255, 256, 2 ** 31, 2 ** 32 - 1), fc.nat()),
  term: fc.oneof(fc.constantFrom('a', 'ab', 'a-', 'é', '\u{1f600}', '\uffff'), plain),
  revision: fc.oneof(fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER), fc.maxSafeNat()),
  index: fc.nat(0xffff),
});

function write(tuple: Tuple): Uint8Array {
  return new KeyWriter()
    .u8(1)
    .u32(tuple.group)
    .term(utf8.encode(tuple.term))
    .u64(tuple.revision)
    .u16(tuple.index)
    .key();
}

function compareTuples(a: Tuple, b: Tuple): number {
  const terms = Buffer.compare(Buffer.from(a.term), Buffer.from(b.term));
  return a.group - b.group || terms || a.revision - b.revision || a.index - b.index;
}

describe('keys', () => {
  it('sort like the tuples that they encode (K7)', () => {
    fc.assert(
      fc.property(tuples, tuples, (a, b) => {
        expect(Math.sign(compareBytes(write(a), write(b)))).toBe(Math.sign(compareTuples(a, b)));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('decode to the parts that were encoded', () => {
    fc.assert(
      fc.property(tuples, (tuple) => {
        const key = write(tuple);
        const term = readTerm(key, 5);
        expect(readU32(key, 1)).toBe(tuple.group);
        expect(Buffer.from(term).equals(Buffer.from(tuple.term))).toBe(true);
        expect(readU64(key, 5 + term.length + 1)).toBe(tuple.revision);
        expect(readU16(key, 5 + term.length + 9)).toBe(tuple.index);
      }),
    );
  });

  it.each([
    ['a u8 of 256', (writer: KeyWriter): unknown => writer.u8(256)],
    ['a u16 of 65536', (writer: KeyWriter): unknown => writer.u16(65_536)],
    ['a u32 of 2^32', (writer: KeyWriter): unknown => writer.u32(2 ** 32)],
    ['a u64 of 2^53', (writer: KeyWriter): unknown => writer.u64(2 ** 53)],
    ['a negative u64', (writer: KeyWriter): unknown => writer.u64(-1)],
    ['a fraction', (writer: KeyWriter): unknown => writer.u32(0.5)],
    ['a term with a byte 00 inside', (writer: KeyWriter): unknown => writer.term(new Uint8Array([1, 0]))],
  ])('reject %s', (_name, attempt) => {
    expect(() => attempt(new KeyWriter())).toThrow(BrokenInvariant);
  });

  it.each([
    ['a u16', readU16],
    ['a u32', readU32],
    ['a u64', readU64],
  ] as const)('fail when %s is read past their end', (_name, read) => {
    expect(() => read(new Uint8Array([1]), 0)).toThrow('lies inside its key');
  });

  it('fail when a term without its end is read', () => {
    expect(() => readTerm(new Uint8Array([1, 2]), 0)).toThrow('A term is ended by a byte 00');
  });
});

it.each([
  [[1], [2]],
  [[1, 0xff], [2]],
  [
    [1, 2, 0xff, 0xff],
    [1, 3],
  ],
])('the end of a prefix (K8) of %j is %j', (prefix, end) => {
  expect([...(prefixEnd(Uint8Array.from(prefix)) ?? [])]).toEqual(end);
});

it.each([[[]], [[0xff]], [[0xff, 0xff]]])('the end of a prefix (K8) of %j does not exist', (prefix) => {
  expect(prefixEnd(Uint8Array.from(prefix))).toBeUndefined();
});

it('the end of a prefix (K8) separates the keys with the prefix from those above', () => {
  const key = fc.array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 4 }).map((k) => Uint8Array.from(k));
  fc.assert(
    fc.property(key, key, (prefix, other) => {
      const begins = other.length >= prefix.length && prefix.every((byte, at) => other[at] === byte);
      const end = prefixEnd(prefix);
      const inside = compareBytes(other, prefix) >= 0 && (end === undefined || compareBytes(other, end) < 0);
      expect(inside).toBe(begins);
    }),
    { numRuns: runs(1_000) },
  );
});
