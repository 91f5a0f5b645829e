/** The canonical ABI of records, variants, flags and handles. */
import type { CoreValue } from '../engine.ts';
import { abiViolation } from '../faults.ts';
import { type Abi, alignedTo, type CoreType, FLAT_PARAMETERS_MAX, FlatSource, joined, notOf } from './abi.ts';
import { ACCESS, type Access } from './abi-primitives.ts';
import type { Canon } from './canon.ts';
import { Handle, isList, isRecord, record, tagged, type Value } from './values.ts';

/** Values stored one after the other; `make` and `part` convert between them and the value of the host. */
interface Parts {
  readonly abis: readonly Abi[];
  readonly make: (values: readonly Value[]) => Value;
  readonly part: (value: Value, index: number) => Value;
}

function sequence({ abis, make, part }: Parts): Abi {
  let size = 0;
  const offsets = abis.map((abi) => {
    const at = alignedTo(size, abi.align);
    size = at + abi.size;
    return at;
  });
  const align = Math.max(...abis.map((abi) => abi.align));
  return {
    size: alignedTo(size, align),
    align,
    flat: joined(abis),
    load: (canon, at) => make(abis.map((abi, i) => abi.load(canon, at + (offsets[i] ?? 0)))),
    store: (canon, value, at) => {
      for (const [i, abi] of abis.entries()) abi.store(canon, part(value, i), at + (offsets[i] ?? 0));
    },
    lift: (canon, from) => make(abis.map((abi) => abi.lift(canon, from))),
    lower: (canon, value, into) => {
      for (const [i, abi] of abis.entries()) abi.lower(canon, part(value, i), into);
    },
  };
}

export function recordOf(fields: readonly (readonly [name: string, abi: Abi])[]): Abi {
  return sequence({
    abis: fields.map(([, abi]) => abi),
    make: (values) => record(fields.map(([name], i) => [name, values[i]])),
    part: (value, i) => {
      if (!isRecord(value)) throw notOf('record', value);
      return value[fields[i]?.[0] ?? ''];
    },
  });
}

export function tupleOf(abis: readonly Abi[]): Abi {
  return sequence({
    abis,
    make: (values) => values,
    part: (value, i) => {
      if (!isList(value)) throw notOf('tuple', value);
      return value[i];
    },
  });
}

/** A choice of cases; `make` and `split` convert between a case index with its payload and the value of the host. */
interface Cases {
  readonly abis: readonly (Abi | undefined)[];
  readonly make: (index: number, value: Value) => Value;
  readonly split: (value: Value) => { readonly index: number; readonly value: Value };
}

function choice({ abis, make, split }: Cases): Abi {
  const held = abis.filter((abi) => abi !== undefined);
  const discriminantBytes = abis.length <= 2 ** 8 ? 1 : abis.length <= 2 ** 16 ? 2 : 4;
  const { get, set } = unsignedOf(discriminantBytes);
  const payloadAlign = Math.max(1, ...held.map((abi) => abi.align));
  const align = Math.max(discriminantBytes, payloadAlign);
  const payloadAt = alignedTo(discriminantBytes, payloadAlign);
  const flat = overlaid(held);
  const expected = (index: number): Abi | undefined => {
    if (index < abis.length) return abis[index];
    throw abiViolation(`Case ${index} does not exist: the type has ${abis.length}, from 0 on`);
  };
  return {
    size: alignedTo(payloadAt + Math.max(0, ...held.map((abi) => abi.size)), align),
    align,
    flat: flat === undefined ? undefined : ['i32', ...flat],
    load: (canon, at) => {
      const index = get(canon.view, at);
      return make(index, expected(index)?.load(canon, at + payloadAt));
    },
    store: (canon, whole, at) => {
      const { index, value } = split(whole);
      set(canon.view, at, index);
      expected(index)?.store(canon, value, at + payloadAt);
    },
    lift: (canon, from) => {
      const index = from.i32();
      const end = from.at + (flat?.length ?? 0);
      const value = liftCase(canon, from, expected(index), flat ?? []);
      from.skipTo(end);
      return make(index, value);
    },
    lower: (canon, whole, into) => {
      const { index, value } = split(whole);
      into.push(index);
      lowerCase(canon, value, { abi: expected(index), flat: flat ?? [], into });
    },
  };
}

function unsignedOf(bytes: 1 | 2 | 4): Access {
  return bytes === 1 ? ACCESS.u8 : bytes === 2 ? ACCESS.u16 : ACCESS.u32;
}

/** Joins the flat forms of all cases: each position gets a type that holds the value of every case. */
function overlaid(abis: readonly Abi[]): readonly CoreType[] | undefined {
  const all: CoreType[] = [];
  for (const { flat } of abis) {
    if (flat === undefined) return undefined;
    for (const [i, type] of flat.entries()) all[i] = wider(all[i] ?? type, type);
  }
  return all.length + 1 > FLAT_PARAMETERS_MAX ? undefined : all;
}

function wider(one: CoreType, other: CoreType): CoreType {
  if (one === other) return one;
  const isSmall = [one, other].every((type) => type === 'i32' || type === 'f32');
  return isSmall ? 'i32' : 'i64';
}

/** Lifts the payload of a case from flat positions that may be wider than its own type. */
function liftCase(canon: Canon, from: FlatSource, abi: Abi | undefined, flat: readonly CoreType[]): Value {
  if (abi === undefined) return undefined;
  const wanted = abi.flat ?? [];
  const values = wanted.map((type, i) => {
    const have = flat[i] ?? type;
    if (have === 'i64') return narrowed(from.i64(), type);
    if (have === 'i32') return type === 'f32' ? floatOf(from.i32()) : from.i32();
    return from.f32();
  });
  return abi.lift(canon, new FlatSource(values));
}

interface LoweredCase {
  readonly abi: Abi | undefined;
  readonly flat: readonly CoreType[];
  readonly into: CoreValue[];
}

function lowerCase(canon: Canon, value: Value, { abi, flat, into }: LoweredCase): void {
  const values: CoreValue[] = [];
  abi?.lower(canon, value, values);
  for (const [i, have] of flat.entries()) into.push(widened(values[i], abi?.flat?.[i] ?? have, have));
}

const BITS = new DataView(new ArrayBuffer(8));

function narrowed(bits: bigint, type: CoreType): CoreValue {
  if (type === 'i64') return bits;
  BITS.setBigInt64(0, bits, true);
  if (type === 'f64') return BITS.getFloat64(0, true);
  return type === 'f32' ? BITS.getFloat32(0, true) : BITS.getUint32(0, true);
}

function floatOf(bits: number): number {
  BITS.setUint32(0, bits, true);
  return BITS.getFloat32(0, true);
}

/** Converts a flat value to the wider type of its position; an absent value is 0. */
function widened(value: CoreValue | undefined, type: CoreType, have: CoreType): CoreValue {
  if (value === undefined) return have === 'i64' ? 0n : 0;
  if (type === have || typeof value === 'bigint') return value;
  BITS.setBigUint64(0, 0n, true);
  if (type === 'f64') BITS.setFloat64(0, value, true);
  else if (type === 'f32') BITS.setFloat32(0, value, true);
  else BITS.setInt32(0, value, true);
  return have === 'i64' ? BITS.getBigInt64(0, true) : BITS.getInt32(0, true);
}

/** A variant: each case has a name and an optional payload. */
export function variantOf(cases: readonly (readonly [name: string, abi: Abi | undefined])[]): Abi {
  const indices = new Map(cases.map(([name], i) => [name, i]));
  return choice({
    abis: cases.map(([, abi]) => abi),
    make: (index, value) => tagged(cases[index]?.[0] ?? '', value),
    split: (value) => {
      const index = isRecord(value) && typeof value['tag'] === 'string' ? indices.get(value['tag']) : undefined;
      if (index === undefined || !isRecord(value)) throw notOf('variant', value);
      return { index, value: value['val'] };
    },
  });
}

export function enumOf(labels: readonly string[]): Abi {
  const indices = new Map(labels.map((label, i) => [label, i]));
  return choice({
    abis: labels.map(() => undefined),
    make: (index) => labels[index],
    split: (value) => {
      const index = typeof value === 'string' ? indices.get(value) : undefined;
      if (index === undefined) throw notOf('enum', value);
      return { index, value: undefined };
    },
  });
}

export function optionOf(abi: Abi): Abi {
  return choice({
    abis: [undefined, abi],
    make: (_, value) => value,
    split: (value) => ({ index: value === undefined ? 0 : 1, value }),
  });
}

/** Flags; bits without a label are ignored. */
export function flagsOf(labels: readonly string[]): Abi {
  const size = labels.length <= 8 ? 1 : labels.length <= 16 ? 2 : 4;
  const { get, set } = unsignedOf(size);
  const bitsOf = (value: Value): number => {
    if (!isList(value)) throw notOf('flags', value);
    const given = new Set<Value>(value);
    return labels.reduce((bits, label, i) => (given.has(label) ? bits | (1 << i) : bits), 0);
  };
  const labelsOf = (bits: number): Value => labels.filter((_, i) => ((bits >>> i) & 1) === 1);
  return {
    size,
    align: size,
    flat: ['i32'],
    load: ({ view }, at) => labelsOf(get(view, at)),
    store: ({ view }, value, at) => set(view, at, bitsOf(value)),
    lift: (_, from) => labelsOf(from.i32()),
    lower: (_, value, into) => void into.push(bitsOf(value)),
  };
}

/** A resource handle: `own` transfers it, `borrow` lends it for the call. */
export function handleOf(kind: 'own' | 'borrow'): Abi {
  const lifted = ({ handles }: Canon, index: number): Handle =>
    kind === 'own' ? handles.take(index) : handles.get(index);
  const lowered = ({ handles }: Canon, value: Value): number => {
    if (!(value instanceof Handle)) throw notOf(kind, value);
    // The component that made a resource receives a borrow of it as its own number for it.
    return kind === 'borrow' && value.home?.handles === handles
      ? value.id
      : kind === 'own'
        ? handles.own(value)
        : handles.lend(value);
  };
  return {
    size: 4,
    align: 4,
    flat: ['i32'],
    load: (canon, at) => lifted(canon, canon.view.getUint32(at, true)),
    store: (canon, value, at) => canon.view.setUint32(at, lowered(canon, value), true),
    lift: (canon, from) => lifted(canon, from.i32()),
    lower: (canon, value, into) => void into.push(lowered(canon, value)),
  };
}
