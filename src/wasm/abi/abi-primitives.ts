/** The canonical ABI of numbers, booleans and characters. */
import type { CoreValue } from '../engine.ts';
import { abiViolation } from '../faults.ts';
import { type Abi, type FlatSource, notOf } from './abi.ts';
import type { Canon } from './canon.ts';
import type { Value } from './values.ts';

const SMALL = ['u8', 's8', 'u16', 's16', 'u32', 's32'] as const;

type Small = (typeof SMALL)[number];
type Float = 'f32' | 'f64';

/** Reads and writes numbers in memory. */
export interface Access {
  readonly get: (view: DataView, at: number) => number;
  readonly set: (view: DataView, at: number, value: number) => void;
}

export const ACCESS: Readonly<Record<Small | Float, Access>> = {
  u8: { get: (view, at) => view.getUint8(at), set: (view, at, value) => view.setUint8(at, value) },
  s8: { get: (view, at) => view.getInt8(at), set: (view, at, value) => view.setInt8(at, value) },
  u16: { get: (view, at) => view.getUint16(at, true), set: (view, at, value) => view.setUint16(at, value, true) },
  s16: { get: (view, at) => view.getInt16(at, true), set: (view, at, value) => view.setInt16(at, value, true) },
  u32: { get: (view, at) => view.getUint32(at, true), set: (view, at, value) => view.setUint32(at, value, true) },
  s32: { get: (view, at) => view.getInt32(at, true), set: (view, at, value) => view.setInt32(at, value, true) },
  f32: { get: (view, at) => view.getFloat32(at, true), set: (view, at, value) => view.setFloat32(at, value, true) },
  f64: { get: (view, at) => view.getFloat64(at, true), set: (view, at, value) => view.setFloat64(at, value, true) },
};

const unsigned = (bits: number) => (value: number) => (bits === 32 ? value >>> 0 : value & (2 ** bits - 1));
const signed = (bits: number) => (value: number) => (value << (32 - bits)) >> (32 - bits);

/** An integer of up to 32 bits. */
function small(name: Small): Abi {
  const { get, set } = ACCESS[name];
  const bits = Number(name.slice(1));
  const size = bits / 8;
  const narrow = name.startsWith('s') ? signed(bits) : unsigned(bits);
  const expected = (value: Value): number => {
    if (typeof value === 'number' && Number.isInteger(value) && narrow(value) === value) return value;
    throw notOf(name, value);
  };
  return {
    size,
    align: size,
    flat: ['i32'],
    load: ({ view }, at) => get(view, at),
    store: ({ view }, value, at) => set(view, at, expected(value)),
    lift: (_, from) => narrow(from.i32()),
    lower: (_, value, into) => void into.push(expected(value) | 0),
  };
}

function large(name: string, narrow: (bits: bigint) => bigint): Abi {
  const expected = (value: Value): bigint => {
    if (typeof value === 'bigint' && narrow(value) === value) return value;
    throw notOf(name, value);
  };
  return {
    size: 8,
    align: 8,
    flat: ['i64'],
    load: ({ view }, at) => narrow(view.getBigUint64(at, true)),
    store: ({ view }, value, at) => view.setBigUint64(at, expected(value), true),
    lift: (_, from) => narrow(from.i64()),
    lower: (_, value, into) => void into.push(expected(value)),
  };
}

/** The bits of NaN differ between machines, so the host uses one canonical NaN. */
function float(name: Float): Abi {
  const { get, set } = ACCESS[name];
  const size = Number(name.slice(1)) / 8;
  const expected = (value: Value): number => {
    if (typeof value === 'number') return value;
    throw notOf(name, value);
  };
  const canonical = (value: number): number => (Number.isNaN(value) ? Number.NaN : value);
  return {
    size,
    align: size,
    flat: [name],
    load: ({ view }, at) => canonical(get(view, at)),
    store: ({ view }, value, at) => set(view, at, canonical(expected(value))),
    lift: (_, from) => canonical(from.f32()),
    lower: (_, value, into) => void into.push(canonical(expected(value))),
  };
}

const CHAR_LAST = 0x10_ffff;
const SURROGATE_FIRST = 0xd800;
const SURROGATE_LAST = 0xdfff;

function character(bits: number): string {
  if (bits > CHAR_LAST || (bits >= SURROGATE_FIRST && bits <= SURROGATE_LAST)) {
    throw abiViolation(`${bits} is not a character: use 0 to ${CHAR_LAST}, without surrogates`);
  }
  return String.fromCodePoint(bits);
}

function codeOf(value: Value): number {
  const code = typeof value === 'string' ? value.codePointAt(0) : undefined;
  if (code === undefined || typeof value !== 'string' || value.length !== String.fromCodePoint(code).length) {
    throw notOf('char', value);
  }
  return code;
}

const CHAR: Abi = {
  size: 4,
  align: 4,
  flat: ['i32'],
  load: ({ view }, at) => character(view.getUint32(at, true)),
  store: ({ view }, value, at) => view.setUint32(at, codeOf(value), true),
  lift: (_: Canon, from: FlatSource) => character(from.i32()),
  lower: (_: Canon, value: Value, into: CoreValue[]) => void into.push(codeOf(value)),
};

function truth(value: Value): number {
  if (typeof value === 'boolean') return Number(value);
  throw notOf('bool', value);
}

const BOOL: Abi = {
  size: 1,
  align: 1,
  flat: ['i32'],
  load: ({ view }, at) => view.getUint8(at) !== 0,
  store: ({ view }, value, at) => view.setUint8(at, truth(value)),
  lift: (_, from) => from.i32() !== 0,
  lower: (_, value, into) => void into.push(truth(value)),
};

export const PRIMITIVES: ReadonlyMap<string, Abi> = new Map([
  ['bool', BOOL],
  ['char', CHAR],
  ...SMALL.map((name): [string, Abi] => [name, small(name)]),
  ['u64', large('u64', (bits) => BigInt.asUintN(64, bits))],
  ['s64', large('s64', (bits) => BigInt.asIntN(64, bits))],
  ['f32', float('f32')],
  ['f64', float('f64')],
]);
