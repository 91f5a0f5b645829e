/** The canonical ABI of types passed as pointer and length: lists, bytes and strings. */
import { decodeUtf8, encodeUtf8 } from '#base';
import type { CoreValue } from '../engine.ts';
import { abiViolation } from '../faults.ts';
import { type Abi, type FlatSource, notOf } from './abi.ts';
import type { Canon } from './canon.ts';
import { isList, type Value } from './values.ts';

/** Host memory that a list takes for each element, beside the element itself. */
const ELEMENT_BYTES = 16;
const POINTER_BYTES = 4;
const LENGTH_BITS = 32;

/** A value stored elsewhere in memory: `read` it from a pointer and a length, or `write` it and return both. */
interface Elsewhere {
  readonly read: (canon: Canon, at: number, length: number) => Value;
  readonly write: (canon: Canon, value: Value) => Place;
}

interface Place {
  readonly at: number;
  readonly length: number;
}

function pointed({ read, write }: Elsewhere): Abi {
  return {
    size: 2 * POINTER_BYTES,
    align: POINTER_BYTES,
    flat: ['i32', 'i32'],
    load: (canon, at) => read(canon, canon.view.getUint32(at, true), canon.view.getUint32(at + POINTER_BYTES, true)),
    store: (canon, value, at) => {
      const place = write(canon, value);
      canon.view.setUint32(at, place.at, true);
      canon.view.setUint32(at + POINTER_BYTES, place.length, true);
    },
    lift: (canon: Canon, from: FlatSource) => read(canon, from.i32(), from.i32()),
    lower: (canon: Canon, value: Value, into: CoreValue[]) => {
      const place = write(canon, value);
      into.push(place.at | 0, place.length | 0);
    },
  };
}

/** list<u8>; the host copies the bytes. */
export const BYTES: Abi = pointed({
  read(canon, at, length) {
    canon.expect(at, 1, length);
    canon.spend(length + ELEMENT_BYTES);
    return canon.bytes.slice(at, at + length);
  },
  write(canon, value) {
    if (!(value instanceof Uint8Array)) throw notOf('list<u8>', value);
    return put(canon, value, 1);
  },
});

export function listOf(element: Abi): Abi {
  return pointed({
    read(canon, at, length) {
      canon.expect(at, element.align, length * element.size);
      canon.spend(length * ELEMENT_BYTES);
      const list: Value[] = [];
      for (let i = 0; i < length; i++) list.push(element.load(canon, at + i * element.size));
      return list;
    },
    write(canon, value) {
      if (!isList(value)) throw notOf('list', value);
      expectLength(value.length * element.size);
      const at = canon.allocate(element.align, value.length * element.size);
      for (const [i, each] of value.entries()) element.store(canon, each, at + i * element.size);
      return { at, length: value.length };
    },
  });
}

/** A string in the encoding of the function's canonical options. */
export const TEXT: Abi = pointed({
  read(canon, at, length) {
    if (canon.encoding === 'utf8') return utf8(canon, at, length);
    if (canon.encoding === 'utf16') return utf16(canon, at, length);
    const isWide = length >= TAG;
    return isWide ? utf16(canon, at, length - TAG) : latin1(canon, at, length);
  },
  write(canon, value) {
    if (typeof value !== 'string' || !value.isWellFormed()) throw notOf('string', value);
    if (canon.encoding === 'utf8') return put(canon, encodeUtf8(value), 1);
    const isNarrow = canon.encoding === 'latin1+utf16' && !BEYOND_LATIN1.test(value);
    if (isNarrow) return put(canon, new Uint8Array(Buffer.from(value, 'latin1')), 2);
    const { at } = put(canon, new Uint8Array(Buffer.from(value, 'utf16le')), 2);
    return { at, length: canon.encoding === 'utf16' ? value.length : value.length + TAG };
  },
});

/** Bit of the length that marks UTF-16 text where the encoding is latin1+utf16. */
const TAG = 2 ** 31;
const BEYOND_LATIN1 = /[\u0100-\uffff]/;

function utf8(canon: Canon, at: number, length: number): string {
  canon.expect(at, 1, length);
  canon.spend(length + ELEMENT_BYTES);
  const text = decodeUtf8(canon.bytes, at, at + length);
  if (text === undefined) throw abiViolation(`The ${length} bytes of text at ${at} are not valid UTF-8`);
  return text;
}

function utf16(canon: Canon, at: number, length: number): string {
  canon.expect(at, 2, 2 * length);
  canon.spend(2 * length + ELEMENT_BYTES);
  const text = Buffer.from(canon.bytes.subarray(at, at + 2 * length)).toString('utf16le');
  if (!text.isWellFormed()) throw abiViolation(`The ${length} units of text at ${at} are not valid UTF-16`);
  return text;
}

function latin1(canon: Canon, at: number, length: number): string {
  canon.expect(at, 2, length);
  canon.spend(length + ELEMENT_BYTES);
  return Buffer.from(canon.bytes.subarray(at, at + length)).toString('latin1');
}

function put(canon: Canon, bytes: Uint8Array, align: number): Place {
  expectLength(bytes.length);
  const at = canon.allocate(align, bytes.length);
  canon.bytes.set(bytes, at);
  return { at, length: bytes.length };
}

function expectLength(bytes: number): void {
  if (bytes >= 2 ** LENGTH_BITS) throw abiViolation(`A value of ${bytes} bytes does not fit into a memory of 32 bits`);
}
