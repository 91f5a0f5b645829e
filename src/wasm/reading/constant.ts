/**
 * Constant expressions: the values of globals, and the offsets of segments. They run before anything else in a module
 * and are not metered, so they may contain only constants, other globals and their sums.
 */
import type { BinaryReader } from './binary-reader.ts';
import { readReferenceType } from './core-types.ts';
import { unknown, unsupported } from './features.ts';

const I32_CONST = 0x41;
const I64_CONST = 0x42;
const F32_CONST = 0x43;
const F64_CONST = 0x44;
const GLOBAL_GET = 0x23;
const REF_NULL = 0xd0;
const REF_FUNC = 0xd2;
const VECTOR = 0xfd;
const V128_CONST = 0x0c;
const COLLECTED = 0xfb;
const END = 0x0b;
/** i32.add, i32.sub, i32.mul and the same operators of i64. */
const SUMS: ReadonlySet<number> = new Set([0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e]);

/** Skips the expression and its end. */
export function readConstant(reader: BinaryReader): void {
  for (;;) {
    const at = reader.at;
    const code = reader.u8();
    if (code === END) return;
    if (!SUMS.has(code)) readOperand(reader, code, at);
  }
}

function readOperand(reader: BinaryReader, code: number, at: number): void {
  switch (code) {
    case I32_CONST:
      return reader.skipSigned(32);
    case I64_CONST:
      return reader.skipSigned(64);
    case F32_CONST:
      return reader.skip(4);
    case F64_CONST:
      return reader.skip(8);
    case GLOBAL_GET:
    case REF_FUNC:
      reader.u32();
      return;
    case REF_NULL:
      return readReferenceType(reader);
    case VECTOR:
      if (reader.u32() === V128_CONST) return reader.skip(16);
      throw unknown('operator in a constant', code, at);
    case COLLECTED:
      throw unsupported('garbage collection and typed references', at);
    default:
      throw unknown('operator in a constant', code, at);
  }
}
