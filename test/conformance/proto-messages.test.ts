// Goal: the codec of proto/message.ts, with the tables of proto/gen, writes and reads what protobuf says.
// Method: random messages of every type, read and written again by the runtime of the protobuf project; then bytes by
// hand.

import { join } from 'node:path';
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FILE_DESCRIPTORS } from '../../proto/gen/descriptors.ts';
import { type MessageType, message } from '../../proto/message.ts';

const GEN = join(import.meta.dirname, '../../proto/gen');
const DEPTH_MAX = 3;
const KEYS = fc.string().filter((key) => key !== '__proto__');
const SCALARS: Partial<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.BYTES]: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  [ScalarType.FIXED64]: fc.maxSafeNat(),
  [ScalarType.INT32]: fc.integer(),
  [ScalarType.INT64]: fc.maxSafeInteger(),
  [ScalarType.STRING]: fc.string({ unit: 'grapheme' }),
  [ScalarType.UINT32]: fc.nat({ max: 2 ** 32 - 1 }),
  [ScalarType.UINT64]: fc.maxSafeNat(),
};

const file = FILE_DESCRIPTORS.map(({ base64 }) => fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, 'base64')));
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
const types = [...registry].filter((type) => type.kind === 'message');

it.each(types.map((type) => [type.typeName, type] as const))(
  'reads and writes %s as protobuf does',
  async (_, desc) => {
    const generated: Record<string, MessageType<unknown>> = await import(join(GEN, `${desc.file.name}.ts`));
    const type = generated[nameOf(desc)];
    if (type === undefined) throw new Error(`${desc.typeName} is not generated`);
    fc.assert(
      fc.property(messages(desc, 1), (sent) => {
        const bytes = type.encode(sent).finish();
        expect(type.decode(bytes)).toStrictEqual(sent);
        const known = fromBinary(desc, bytes, { readUnknownFields: false });
        expect(type.decode(toBinary(desc, known))).toStrictEqual(sent);
        expect(type.fromPartial(sent as object)).toStrictEqual(sent);
      }),
      { numRuns: 25 },
    );
  },
);

function nameOf(type: DescMessage): string {
  return type.parent === undefined ? type.name : `${nameOf(type.parent)}_${type.name}`;
}

function messages(type: DescMessage, depth: number): fc.Arbitrary<unknown> {
  const members = type.members.map((member) => {
    if (member.kind === 'field') return [member.localName, fields(member, depth)] as const;
    const cases = member.fields.map((field) =>
      values(field, depth).map((value) => (value === undefined ? undefined : { $case: field.localName, value })),
    );
    return [member.localName, fc.oneof(fc.constant(undefined), ...cases)] as const;
  });
  return fc.record(Object.fromEntries(members), { noNullPrototype: true });
}

function fields(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const each = values(field, depth);
  if (field.fieldKind === 'list') return depth < DEPTH_MAX ? fc.array(each, { maxLength: 3 }) : fc.constant([]);
  if (field.fieldKind === 'map') {
    return depth < DEPTH_MAX ? fc.dictionary(KEYS, each, { maxKeys: 3, noNullPrototype: true }) : fc.constant({});
  }
  return field.proto.proto3Optional || field.message !== undefined ? fc.option(each, { nil: undefined }) : each;
}

/** Absent where the nesting ends. */
function values(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined)
    return depth < DEPTH_MAX ? messages(field.message, depth + 1) : fc.constant(undefined);
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  const scalar = field.scalar === undefined ? undefined : SCALARS[field.scalar];
  if (scalar === undefined) throw new Error(`${field.name} has a type that the codec does not know`);
  return scalar;
}

interface Sample {
  readonly small: number;
  readonly large: number;
  readonly list: readonly number[];
  readonly map: { [key: string]: number };
  readonly inner: Sample | undefined;
}
const Sample: MessageType<Sample> = message(() => [
  { number: 1, name: 'small', type: 'int32' },
  { number: 2, name: 'large', type: 'uint64' },
  { number: 3, name: 'list', type: 'uint32', kind: 'list' },
  { number: 4, name: 'map', type: 'uint32', kind: 'map' },
  { number: 5, name: 'inner', type: Sample },
]);
const EMPTY = { small: 0, large: 0, list: [], map: {}, inner: undefined };
const SAFE_MAX = 'ffffffffffffff0f';

function nested(depth: number): string {
  let sample: Sample = EMPTY;
  for (let at = 1; at < depth; at++) sample = { ...EMPTY, inner: sample };
  return Buffer.from(Sample.encode(sample).finish()).toString('hex');
}

describe('bytes by hand', () => {
  it.each([
    ['a negative number of 32 bits', '08ffffffffffffffffff01', { small: -1 }],
    ['the largest safe integer', `10${SAFE_MAX}`, { large: Number.MAX_SAFE_INTEGER }],
    ['a packed list', '1a03010203', { list: [1, 2, 3] }],
    ['an entry of a map', '22050a01611007', { map: { a: 7 } }],
    ['a message without fields', '2a00', { inner: EMPTY }],
  ])('%s', (_, hex, parts) => {
    const expected = { ...EMPTY, ...parts };
    expect(Sample.decode(Buffer.from(hex, 'hex'))).toStrictEqual(expected);
    expect(Buffer.from(Sample.encode(Sample.fromPartial(parts)).finish()).toString('hex')).toBe(hex);
  });

  it.each([
    ['a list that is not packed', '180118021803', { list: [1, 2, 3] }],
    ['unknown fields', '78011a0101', { list: [1] }],
    ['a known number with another wire type', '0a020801', {}],
    ['an entry of a map without its value', '22030a0161', { map: { a: 0 } }],
    ['the last value of a field', '08010802', { small: 2 }],
  ])('reads %s', (_, hex, parts) => {
    expect(Sample.decode(Buffer.from(hex, 'hex'))).toStrictEqual({ ...EMPTY, ...parts });
  });

  it.each([
    ['a number beyond the safe integers', '10ffffffffffffff1f', 'is not a safe integer'],
    ['a message that is cut off', '2a02', 'premature EOF'],
    ['a list that is cut off', '1a0301', 'premature EOF'],
    ['the end of a group that was not begun', '0c', 'wire type 4'],
    ['deep nesting', nested(101), 'nested deeper than 100'],
  ])('refuses %s', (_, hex, reason) => {
    expect(() => Sample.decode(Buffer.from(hex, 'hex'))).toThrow(reason);
  });

  it('reads 100 levels', () => {
    expect(Sample.decode(Buffer.from(nested(100), 'hex'))).toMatchObject({ inner: {} });
  });
});
