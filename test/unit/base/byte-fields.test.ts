// Goal: a record reads back as it was written, and any other bytes end in a record or a failure (B3). Method: a record
// with every field, given and random bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BYTES,
  ByteReader,
  ByteWriter,
  type Field,
  FLAG,
  fieldsOf,
  fixedBytes,
  kindsOf,
  listOf,
  mapped,
  oneOf,
  optional,
  REST,
  TEXT,
  U64,
  VARINT,
  VIEW,
  valid,
} from '#base';

interface Part {
  readonly count: number;
  readonly word: 'a' | 'b';
}

type Whole =
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'full';
      readonly at: number;
      readonly isSet: boolean;
      readonly text: string;
      readonly bytes: Uint8Array;
      readonly view: Uint8Array;
      readonly hash: Uint8Array;
      readonly date: Date;
      readonly parts: readonly Part[];
      readonly only: Part | undefined;
      readonly rest: Uint8Array;
    };

const PART = fieldsOf<Part>({ count: valid(VARINT, (count) => count < 1000), word: oneOf(['a', 'b'], 1) });

const WHOLE = kindsOf<Whole>({
  empty: [0, {}],
  full: [
    7,
    {
      at: U64,
      isSet: FLAG,
      text: TEXT,
      bytes: BYTES,
      view: VIEW,
      hash: fixedBytes(4),
      date: mapped(
        VARINT,
        (date: Date) => date.getTime(),
        (ms) => (ms < 8.64e15 ? new Date(ms) : undefined),
      ),
      parts: listOf(PART, { max: 3 }),
      only: optional(PART),
      rest: REST,
    },
  ],
});

const FULL: Whole = {
  kind: 'full',
  at: 2 ** 50,
  isSet: true,
  text: 'é𐀀',
  bytes: Uint8Array.of(1, 2),
  view: Uint8Array.of(3),
  hash: Uint8Array.of(4, 5, 6, 7),
  date: new Date(1_767_225_600_000),
  parts: [
    { count: 0, word: 'a' },
    { count: 999, word: 'b' },
  ],
  only: { count: 5, word: 'b' },
  rest: Uint8Array.of(8, 9),
};

function bytesOf<Value>(field: Field<Value>, value: Value): Uint8Array {
  const writer = new ByteWriter();
  field.write(writer, value);
  return writer.take();
}

function read<Value>(field: Field<Value>, bytes: Uint8Array): Value | 'failed' {
  const reader = new ByteReader(bytes);
  const value = field.read(reader);
  return reader.failed ? 'failed' : value;
}

describe('a record', () => {
  it.each<[string, Whole]>([
    ['no fields', { kind: 'empty' }],
    ['every field', FULL],
    ['absent values', { ...FULL, isSet: false, text: '', parts: [], only: undefined, rest: new Uint8Array(0) }],
  ])('with %s reads back as it was written (B3)', (_what, whole) => {
    expect(read(WHOLE, bytesOf(WHOLE, whole))).toStrictEqual(whole);
  });

  it.each<[string, Field<unknown>, readonly number[]]>([
    ['a kind without a layout', WHOLE, [1]],
    ['a flag of 2', FLAG, [2]],
    ['a word after the last', oneOf(['a', 'b'], 1), [3]],
    ['a word before the first', oneOf(['a', 'b'], 1), [0]],
    ['an item beyond the most', listOf(VARINT, { max: 1 }), [2, 0, 0]],
    ['fewer items than the least', listOf(VARINT, { min: 1 }), [0]],
    ['a list that is cut short', listOf(VARINT), [200, 1, 0]],
    ['a value that does not pass its test', valid(VARINT, (value) => value > 1), [1]],
    ['too few bytes', fixedBytes(4), [1, 2, 3]],
    ['a text that is not UTF-8', TEXT, [1, 0xff]],
  ])('must not have %s', (_what, field, bytes) => {
    expect(read(field, Uint8Array.from(bytes))).toBe('failed');
  });

  it('is read from any bytes without an exception, and not beyond their end', () => {
    const whole = bytesOf(WHOLE, FULL);
    const changed = fc
      .tuple(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length))
      .map(([at, byte, length]) => whole.with(at, byte).subarray(0, length));
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 40 })), (bytes) => {
        const value = read(WHOLE, bytes);
        if (value === 'failed') return;
        expect(read(WHOLE, bytesOf(WHOLE, value))).toStrictEqual(value);
      }),
      { numRuns: 2000 },
    );
  });
});
