/**
 * The code that charges fuel. The counter is a global of 64 bits; a charge subtracts from it, and traps when the result
 * is negative. So a negative counter after a trap means that the fuel was used up; nothing else makes it negative.
 *
 * ```
 *   unit, growth     counter -= n; if (counter < 0) unreachable            in place, leaves the stack as it is
 *   bytes            counter -= length / 8; the same; the length again     a call, takes and gives the length
 *   elements         counter -= length; the same; the length again         a call
 * ```
 */
import { ByteWriter } from '#base';
import type { Charge } from '../reading/code-walk.ts';

const I32 = 0x7f;
const FUNCTION_TYPE = 0x60;
const CALL = 0x10;
const LOCAL_GET = 0x20;
const GLOBAL_GET = 0x23;
const GLOBAL_SET = 0x24;
const I64_CONST = 0x42;
const I64_LT_S = 0x53;
const I64_SUB = 0x7d;
const I64_SHR_U = 0x88;
const I64_EXTEND_I32_U = 0xad;
const UNREACHABLE = 0x00;
const IF = 0x04;
const EMPTY_BLOCK = 0x40;
const END = 0x0b;

/**
 * Growing is rare and costs a system call; the cap limits its sum. A unit is about one iteration of a small loop, in
 * which memory is filled at eight bytes or more.
 */
const UNIT = Uint8Array.of(I64_CONST, 1);
const GROWTH_UNITS = Uint8Array.of(I64_CONST, 0xe8, 0x07);
const BYTES_PER_UNIT_LOG2 = 3;

/** Type of the functions that charge a length: they return their argument. */
export const LENGTH_TYPE: Uint8Array = Uint8Array.of(FUNCTION_TYPE, 1, I32, 1, I32);

export interface FuelIndices {
  readonly counter: number;
  /** Index of the function that charges bytes; the next one charges elements. */
  readonly chargeBytes: number;
}

/** Returns the code that goes before an operator of each charge. */
export function chargeCode({ counter, chargeBytes }: FuelIndices): Readonly<Record<Charge, Uint8Array>> {
  return {
    unit: inPlace(counter, UNIT),
    growth: inPlace(counter, GROWTH_UNITS),
    bytes: code((writer) => writeIndexed(writer, CALL, chargeBytes)),
    elements: code((writer) => writeIndexed(writer, CALL, chargeBytes + 1)),
  };
}

/** Bodies of the functions that charge bytes and elements, each after its length. */
export function lengthBodies(counter: number): readonly Uint8Array[] {
  const bytes = lengthBody(counter, Uint8Array.of(I64_CONST, BYTES_PER_UNIT_LOG2, I64_SHR_U));
  return [bytes, lengthBody(counter, Uint8Array.of())];
}

function inPlace(counter: number, constant: Uint8Array): Uint8Array {
  return code((writer) => {
    writeIndexed(writer, GLOBAL_GET, counter);
    writer.bytes(constant);
    writeTaken(writer, counter);
  });
}

function lengthBody(counter: number, scale: Uint8Array): Uint8Array {
  const body = code((writer) => {
    writer.u8(0);
    writeIndexed(writer, GLOBAL_GET, counter);
    writeIndexed(writer, LOCAL_GET, 0);
    writer.u8(I64_EXTEND_I32_U);
    writer.bytes(scale);
    writeTaken(writer, counter);
    writeIndexed(writer, LOCAL_GET, 0);
    writer.u8(END);
  });
  return code((writer) => {
    writer.varint(body.length);
    writer.bytes(body);
  });
}

/** Subtracts the charge from the counter, which are both on the stack, and traps below zero. */
function writeTaken(writer: ByteWriter, counter: number): void {
  writer.u8(I64_SUB);
  writeIndexed(writer, GLOBAL_SET, counter);
  writeIndexed(writer, GLOBAL_GET, counter);
  writer.bytes(Uint8Array.of(I64_CONST, 0, I64_LT_S, IF, EMPTY_BLOCK, UNREACHABLE, END));
}

function writeIndexed(writer: ByteWriter, operator: number, index: number): void {
  writer.u8(operator);
  writer.varint(index);
}

function code(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter();
  write(writer);
  return writer.take();
}
