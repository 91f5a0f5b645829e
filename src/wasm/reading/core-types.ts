/**
 * The types of core WebAssembly that guests may use: numbers, vectors, and references to functions and externals. The
 * garbage collection, typed reference and exception types are refused by name (G2).
 */
import type { BinaryReader } from './binary-reader.ts';
import { unsupported } from './features.ts';

const FUNCTION = 0x60;
const EMPTY_BLOCK = 0x40;
const FUNCREF = 0x70;
const EXTERNREF = 0x6f;
const V128 = 0x7b;
const LIMITS_MAXIMUM = 0x01;
const LIMITS_SHARED = 0x02;
const LIMITS_64_BITS = 0x04;

/** Limits of a memory in pages, or of a table in elements. */
export interface Limits {
  readonly minimum: number;
  readonly maximum: number | undefined;
}

export function readValueType(reader: BinaryReader): void {
  const at = reader.at;
  const byte = reader.u8();
  // i32, i64, f32, f64 and v128 are consecutive.
  if ((byte >= V128 && byte <= 0x7f) || byte === FUNCREF || byte === EXTERNREF) return;
  throw refusedType(reader, at, byte);
}

/** @throws Refused for every reference but those to functions and externals. */
export function readReferenceType(reader: BinaryReader): void {
  const at = reader.at;
  const byte = reader.u8();
  if (byte !== FUNCREF && byte !== EXTERNREF) throw refusedType(reader, at, byte);
}

/** Reads the parameters and results of a function. */
export function readFunctionType(reader: BinaryReader): void {
  const at = reader.at;
  const byte = reader.u8();
  if (byte !== FUNCTION) throw refusedType(reader, at, byte);
  for (let params = reader.u32(); params > 0; params--) readValueType(reader);
  for (let results = reader.u32(); results > 0; results--) readValueType(reader);
}

/** Reads the type of a block: empty, one value type, or the index of a function type. */
export function readBlockType(reader: BinaryReader): void {
  const byte = reader.peek();
  if (byte === EMPTY_BLOCK) reader.skip(1);
  else if ((byte & 0xc0) === 0x40) readValueType(reader);
  else reader.skipSigned(33);
}

export function readLimits(reader: BinaryReader): Limits {
  const at = reader.at;
  const flags = reader.u8();
  if ((flags & LIMITS_64_BITS) !== 0) throw unsupported('memory64', at);
  if ((flags & LIMITS_SHARED) !== 0) throw unsupported('threads', at);
  if (flags > LIMITS_MAXIMUM) throw unsupported('custom page sizes', at);
  return { minimum: reader.u32(), maximum: flags === LIMITS_MAXIMUM ? reader.u32() : undefined };
}

function refusedType(reader: BinaryReader, at: number, byte: number): Error {
  const isReference = byte >= 0x63 && byte <= 0x74;
  const isAggregate = byte >= 0x4e && byte <= 0x5f;
  if (byte === 0x69 || byte === 0x74) return unsupported('exception handling', at);
  if (isReference || isAggregate) return unsupported('garbage collection and typed references', at);
  return reader.unexpected(at, 'a type', 'i32, i64, f32, f64, v128, funcref or externref, or 0x60 where a type begins');
}
