/**
 * Every operator that a guest may use, and its operands.
 *
 * The tables are those of WebAssembly 2.0 with tail calls: any other operator is refused (G2). Types are not checked
 * here; the engine validates each module. code-walk.ts handles the control operators, because it needs their targets.
 */
import type { BinaryReader } from './binary-reader.ts';
import { readReferenceType, readValueType } from './core-types.ts';
import { type RefusedFeature, unknown, unsupported } from './features.ts';

/** The operators that code walks must distinguish. */
export const OPERATOR = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  memoryGrow: 0x40,
  bulk: 0xfc,
  vector: 0xfd,
} as const;

/** Operators with the prefix 0xfc whose work grows with an operand, or with a table. */
export const BULK = {
  memoryInit: 0x08,
  memoryCopy: 0x0a,
  memoryFill: 0x0b,
  tableInit: 0x0c,
  tableCopy: 0x0e,
  tableGrow: 0x0f,
  tableFill: 0x11,
} as const;

/** Skips the operands of an operator. */
type Operands = (reader: BinaryReader) => void;
type Row = readonly [first: number, last: number, operands: Operands];

const PLAIN: readonly (Operands | undefined)[] = spread([
  [0x00, 0x01, nothing],
  [0x0f, 0x0f, nothing],
  [0x10, 0x10, index],
  [0x11, 0x11, twoIndices],
  [0x12, 0x12, index],
  [0x13, 0x13, twoIndices],
  [0x1a, 0x1b, nothing],
  [0x1c, 0x1c, types],
  [0x20, 0x26, index],
  [0x28, 0x3e, address],
  [0x3f, 0x40, memory],
  [0x41, 0x41, (reader) => reader.skipSigned(32)],
  [0x42, 0x42, (reader) => reader.skipSigned(64)],
  [0x43, 0x43, (reader) => reader.skip(4)],
  [0x44, 0x44, (reader) => reader.skip(8)],
  [0x45, 0xc4, nothing],
  [0xd0, 0xd0, readReferenceType],
  [0xd1, 0xd1, nothing],
  [0xd2, 0xd2, index],
]);

/** Operands of the operators with the prefix 0xfc. */
const BULK_OPERANDS: readonly (Operands | undefined)[] = spread([
  [0x00, 0x07, nothing],
  [0x08, 0x08, (reader) => (index(reader), memory(reader))],
  [0x09, 0x09, index],
  [0x0a, 0x0a, (reader) => (memory(reader), memory(reader))],
  [0x0b, 0x0b, memory],
  [0x0c, 0x0c, twoIndices],
  [0x0d, 0x0d, index],
  [0x0e, 0x0e, twoIndices],
  [0x0f, 0x11, index],
]);

/** Operands of the operators with the prefix 0xfd. Omitted numbers are unassigned; from 0x100 on it is relaxed SIMD. */
const VECTOR: readonly (Operands | undefined)[] = spread([
  [0x00, 0x0b, address],
  [0x0c, 0x0d, (reader) => reader.skip(16)],
  [0x0e, 0x14, nothing],
  [0x15, 0x22, lane],
  [0x23, 0x53, nothing],
  [0x54, 0x5b, (reader) => (address(reader), lane(reader))],
  [0x5c, 0x5d, address],
  [0x5e, 0x99, nothing],
  [0x9b, 0xa1, nothing],
  [0xa3, 0xa4, nothing],
  [0xa7, 0xae, nothing],
  [0xb1, 0xb1, nothing],
  [0xb5, 0xba, nothing],
  [0xbc, 0xc1, nothing],
  [0xc3, 0xc4, nothing],
  [0xc7, 0xce, nothing],
  [0xd1, 0xd1, nothing],
  [0xd5, 0xe1, nothing],
  [0xe3, 0xed, nothing],
  [0xef, 0xff, nothing],
]);

/** Operators that are refused by name. */
const REFUSED: readonly (readonly [first: number, last: number, feature: RefusedFeature])[] = [
  [0x06, 0x0a, 'exception handling'],
  [0x14, 0x15, 'garbage collection and typed references'],
  [0x18, 0x19, 'exception handling'],
  [0x1f, 0x1f, 'exception handling'],
  [0xd3, 0xd6, 'garbage collection and typed references'],
  [0xfb, 0xfb, 'garbage collection and typed references'],
  [0xfe, 0xfe, 'threads'],
];

const RELAXED_SIMD = 0x100;
/** Flag of an address that names its memory. */
const NAMES_MEMORY = 0x40;

/** Skips the operands of the operator `code` at `at`. */
export function readOperands(reader: BinaryReader, code: number, at: number): void {
  const operands = PLAIN[code];
  if (operands !== undefined) return operands(reader);
  if (code !== OPERATOR.vector) throw refusedOperator(code, at);
  const number = reader.u32();
  if (number >= RELAXED_SIMD) throw unsupported('relaxed SIMD', at);
  const vectorOperands = VECTOR[number];
  if (vectorOperands === undefined) throw unknown('operator 0xfd', number, at);
  vectorOperands(reader);
}

/** Reads the operator after the prefix 0xfc at `at`, skips its operands, and returns its number. */
export function readBulkOperator(reader: BinaryReader, at: number): number {
  const number = reader.u32();
  const operands = BULK_OPERANDS[number];
  if (operands === undefined) throw unknown('operator 0xfc', number, at);
  operands(reader);
  return number;
}

function refusedOperator(code: number, at: number): Error {
  const [, , feature] = REFUSED.find(([first, last]) => code >= first && code <= last) ?? [];
  return feature === undefined ? unknown('operator', code, at) : unsupported(feature, at);
}

function nothing(): void {
  // The operator has no operands.
}

function index(reader: BinaryReader): void {
  reader.u32();
}

function twoIndices(reader: BinaryReader): void {
  reader.u32();
  reader.u32();
}

function types(reader: BinaryReader): void {
  for (let count = reader.u32(); count > 0; count--) readValueType(reader);
}

function address(reader: BinaryReader): void {
  const at = reader.at;
  if (reader.u32() >= NAMES_MEMORY) throw unsupported('multi-memory', at);
  reader.u32();
}

function lane(reader: BinaryReader): void {
  reader.skip(1);
}

function memory(reader: BinaryReader): void {
  const at = reader.at;
  if (reader.u8() !== 0) throw unsupported('multi-memory', at);
}

function spread(rows: readonly Row[]): readonly (Operands | undefined)[] {
  const table = Array.from<Operands | undefined>({ length: 0x100 });
  for (const [first, last, operands] of rows) table.fill(operands, first, last + 1);
  return table;
}
