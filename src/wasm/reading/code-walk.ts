/**
 * A walk over the body of a function, which finds where fuel must be charged.
 *
 * It charges the entry of the function, the head of each loop, and operators whose work grows with an operand. That
 * alone would let a body of a megabyte run for one unit. So the walk tracks, at every operator, the maximum number of
 * operators since the last charge over all paths to it. Control flow is structured and goes backward only in loops, so
 * one pass is enough. Where the number reaches `STRAIGHT_OPERATORS_MAX` there is another charge.
 *
 *   G3  On every path through a body at most STRAIGHT_OPERATORS_MAX operators of it run between two charges.
 *
 * ```
 *   label   paths that lead after its end          count after the end
 *   block   falling through, and every branch      the maximum of these
 *   if      the same, and around it without else   the maximum of these
 *   loop    falling through: a branch leads to     that of falling through
 *           its head, which is charged
 * ```
 */
import { FUNCTION_BYTES_MAX, LOCALS_MAX } from '../limits.ts';
import { BinaryReader, type Span } from './binary-reader.ts';
import { readBlockType, readValueType } from './core-types.ts';
import { BULK, OPERATOR, readBulkOperator, readOperands } from './operators.ts';
import { Refused } from './refusal.ts';

/** Large enough that few functions reach it; so many operators take some microseconds. */
const STRAIGHT_OPERATORS_MAX = 1000;

/** With so many charges the body stays below the engine's size limit. */
const CHARGES_MAX = 100_000;

/** Kind of the charge before an operator: one unit, the cost of growing, or the length on top of the stack. */
export type Charge = 'unit' | 'growth' | 'bytes' | 'elements';

/** Called for each charge, in order of offset. */
type OnCharge = (at: number, charge: Charge) => void;

/** Count of an unreachable position. */
const UNREACHED = -1;

const BULK_CHARGES: readonly (Charge | undefined)[] = Object.assign(Array.from<Charge | undefined>({ length: 0x20 }), {
  [BULK.memoryInit]: 'bytes',
  [BULK.memoryCopy]: 'bytes',
  [BULK.memoryFill]: 'bytes',
  [BULK.tableInit]: 'elements',
  [BULK.tableCopy]: 'elements',
  [BULK.tableFill]: 'elements',
  [BULK.tableGrow]: 'growth',
});

interface Label {
  kind: 'block' | 'loop' | 'if' | 'else';
  /** Maximum count over the paths that lead after the end. */
  highest: number;
  /** Count before the label. */
  readonly before: number;
}

/** Walks over the locals and the code of one body. */
export function walkBody(bytes: Uint8Array, body: Span, onCharge: OnCharge): void {
  const length = body.to - body.from;
  if (length > FUNCTION_BYTES_MAX) {
    const message = `The function at ${body.from} has ${length} bytes; the limit is ${FUNCTION_BYTES_MAX}: split it`;
    throw new Refused('CodeTooComplex', body.from, message);
  }
  const reader = new BinaryReader(bytes, body);
  readLocals(reader);
  new CodeWalk(reader, onCharge).run();
  reader.expectEnd('a function');
}

function readLocals(reader: BinaryReader): void {
  const from = reader.at;
  let locals = 0;
  for (let groups = reader.u32(); groups > 0; groups--) {
    locals += reader.u32();
    readValueType(reader);
  }
  if (locals <= LOCALS_MAX) return;
  const message = `The function at ${from} has ${locals} locals; the limit is ${LOCALS_MAX}: split it`;
  throw new Refused('CodeTooComplex', from, message);
}

class CodeWalk {
  readonly #reader: BinaryReader;
  readonly #onCharge: OnCharge;
  readonly #labels: Label[] = [];
  /** Maximum number of operators since the last charge, over all paths to here. */
  #count = 0;
  #charges = 0;

  constructor(reader: BinaryReader, onCharge: OnCharge) {
    this.#reader = reader;
    this.#onCharge = onCharge;
  }

  run(): void {
    this.#charge();
    this.#open('block');
    while (this.#labels.length > 0) this.#step();
  }

  #step(): void {
    if (this.#count >= STRAIGHT_OPERATORS_MAX) this.#charge();
    const at = this.#reader.at;
    const code = this.#reader.u8();
    if (this.#count !== UNREACHED) this.#count++;
    switch (code) {
      case OPERATOR.block:
      case OPERATOR.loop:
      case OPERATOR.if:
        return this.#enter(code);
      case OPERATOR.else:
        return this.#else(at);
      case OPERATOR.end:
        return this.#end();
      case OPERATOR.br:
        this.#branch(this.#reader.u32());
        this.#count = UNREACHED;
        return;
      case OPERATOR.brIf:
        return this.#branch(this.#reader.u32());
      case OPERATOR.brTable:
        // One more than the count: the default target is last.
        for (let targets = this.#reader.u32(); targets >= 0; targets--) this.#branch(this.#reader.u32());
        this.#count = UNREACHED;
        return;
      case OPERATOR.bulk:
        return this.#bulk(at);
      default:
        return this.#plain(code, at);
    }
  }

  #plain(code: number, at: number): void {
    if (code === OPERATOR.memoryGrow) this.#charge('growth', at);
    readOperands(this.#reader, code, at);
    if (
      code === OPERATOR.unreachable ||
      code === OPERATOR.return ||
      code === OPERATOR.returnCall ||
      code === OPERATOR.returnCallIndirect
    ) {
      this.#count = UNREACHED;
    }
  }

  #bulk(at: number): void {
    const charge = BULK_CHARGES[readBulkOperator(this.#reader, at)];
    if (charge !== undefined) this.#charge(charge, at);
  }

  #enter(code: typeof OPERATOR.block | typeof OPERATOR.loop | typeof OPERATOR.if): void {
    readBlockType(this.#reader);
    if (code === OPERATOR.loop) {
      this.#open('loop');
      this.#charge();
    } else {
      this.#open(code === OPERATOR.if ? 'if' : 'block');
    }
  }

  #else(at: number): void {
    const label = this.#labels.at(-1);
    if (label?.kind !== 'if') {
      throw new Refused('InvalidComponent', at, `The else at ${at} is not in an if`);
    }
    label.highest = Math.max(label.highest, this.#count);
    label.kind = 'else';
    this.#count = label.before;
  }

  #end(): void {
    const label = this.#labels.pop();
    if (label === undefined || label.kind === 'loop') return;
    const around = label.kind === 'if' ? label.before : UNREACHED;
    this.#count = Math.max(this.#count, label.highest, around);
  }

  #branch(depth: number): void {
    const label = this.#labels.at(-1 - depth);
    if (label === undefined) {
      const message = `A branch leaves ${depth + 1} blocks, but is in ${this.#labels.length}; it must stay in its function`;
      throw new Refused('InvalidComponent', this.#reader.at, message);
    }
    if (label.kind !== 'loop') label.highest = Math.max(label.highest, this.#count);
  }

  #open(kind: Label['kind']): void {
    this.#labels.push({ kind, highest: UNREACHED, before: this.#count });
  }

  /** Every charge takes at least one unit of fuel, except the charge for a length of zero. */
  #charge(charge: Charge = 'unit', at: number = this.#reader.at): void {
    this.#charges++;
    if (this.#charges > CHARGES_MAX) {
      const message = `The function around ${at} has more than ${CHARGES_MAX} loops and operators that are charged: split it`;
      throw new Refused('CodeTooComplex', at, message);
    }
    this.#onCharge(at, charge);
    if (charge === 'unit') this.#count = 0;
  }
}
