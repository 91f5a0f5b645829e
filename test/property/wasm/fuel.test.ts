// Goal: a unit of fuel pays for at most a thousand operators (G3), and metering changes no result (G8). Method: random
// bodies of blocks, ifs and branches; an interpreter counts the executed operators.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../support/runs.ts';
import { fuelOf, functionOf, withFuel } from '../../support/wasm/rewritten.ts';

const OPERATORS_PER_UNIT = 1000;
const MUCH = 1_000_000n;
const CONDITIONS = 16;

type Code =
  | { readonly kind: 'run'; readonly length: number }
  | { readonly kind: 'block'; readonly body: readonly Code[] }
  | { readonly kind: 'if'; readonly bit: number; readonly yes: readonly Code[]; readonly no: readonly Code[] }
  /** Leaves this number of blocks, or the function if there are fewer; always, or if the bit is set. */
  | { readonly kind: 'branch'; readonly depth: number; readonly bit: number | undefined }
  | { readonly kind: 'switch'; readonly depths: readonly number[]; readonly bit: number };

const bit = fc.nat(CONDITIONS - 1);
const depth = fc.nat(3);
const { body } = fc.letrec<{ body: readonly Code[]; code: Code }>((tie) => ({
  body: fc.array(tie('code'), { minLength: 1, maxLength: 4 }),
  code: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.record({ kind: fc.constant('run' as const), length: fc.integer({ min: 1, max: 998 }) }),
    fc.record({ kind: fc.constant('branch' as const), depth, bit: fc.option(bit, { nil: undefined, freq: 4 }) }),
    fc.record({ kind: fc.constant('switch' as const), depths: fc.array(depth, { minLength: 1, maxLength: 4 }), bit }),
    fc.record({ kind: fc.constant('block' as const), body: tie('body') }),
    fc.record({ kind: fc.constant('if' as const), bit, yes: tie('body'), no: tie('body') }),
  ),
}));

it('a unit of fuel pays for at most a thousand operators, on any path through a body (G3, G8)', async () => {
  const bits = fc.nat(2 ** CONDITIONS - 1);
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 5 }), bits, async (bodies, argument) => {
      const code = bodies.flat();
      const exports = await withFuel(moduleOf(code), MUCH);
      const result = functionOf(exports, 'run')(argument);
      const ran = interpret(code, argument);
      expect(result).toBe(ran.runs);
      expect(ran.operators).toBeLessThanOrEqual(Number(MUCH - fuelOf(exports)) * OPERATORS_PER_UNIT);
    }),
    { numRuns: runs(60) },
  );
});

/** `run` returns the number of executed runs of straight code. */
function moduleOf(code: readonly Code[]): string {
  return `(func (export "run") (param $bits i32) (result i32) (local $runs i32)
    (block ${code.map((part) => textOf(part, 0)).join(' ')}) (local.get $runs))`;
}

function textOf(code: Code, blocks: number): string {
  const within = (parts: readonly Code[]): string => parts.map((part) => textOf(part, blocks + 1)).join(' ');
  const isSet = (at: number): string => `(i32.and (i32.shr_u (local.get $bits) (i32.const ${at})) (i32.const 1))`;
  switch (code.kind) {
    case 'run':
      return `${'nop '.repeat(code.length)} (local.set $runs (i32.add (local.get $runs) (i32.const 1)))`;
    case 'block':
      return `(block ${within(code.body)})`;
    case 'if':
      return `(if ${isSet(code.bit)} (then ${within(code.yes)}) (else ${within(code.no)}))`;
    case 'branch': {
      const label = Math.min(code.depth, blocks);
      return code.bit === undefined ? `(br ${label})` : `(br_if ${label} ${isSet(code.bit)})`;
    }
    case 'switch':
      return `(br_table ${code.depths.map((label) => Math.min(label, blocks)).join(' ')} ${isSet(code.bit)})`;
  }
}

interface Ran {
  readonly operators: number;
  readonly runs: number;
  /** Number of blocks still to leave. */
  readonly leaves: number;
}

/** Interprets the tree. It counts only operators in runs of straight code, which is a lower bound. */
function interpret(code: readonly Code[], bits: number, blocks: number = 0): Ran {
  let operators = 0;
  let straight = 0;
  for (const part of code) {
    const ran = interpretOne(part, bits, blocks);
    operators += ran.operators;
    straight += ran.runs;
    if (ran.leaves > 0) return { operators, runs: straight, leaves: ran.leaves };
  }
  return { operators, runs: straight, leaves: 0 };
}

function interpretOne(code: Code, bits: number, blocks: number): Ran {
  const isSet = (at: number): boolean => ((bits >>> at) & 1) === 1;
  const leave = (label: number): Ran => ({ operators: 1, runs: 0, leaves: Math.min(label, blocks) + 1 });
  const within = (parts: readonly Code[]): Ran => {
    const ran = interpret(parts, bits, blocks + 1);
    return { ...ran, leaves: Math.max(0, ran.leaves - 1) };
  };
  switch (code.kind) {
    case 'run':
      return { operators: code.length + 4, runs: 1, leaves: 0 };
    case 'block':
      return within(code.body);
    case 'if':
      return within(isSet(code.bit) ? code.yes : code.no);
    case 'branch':
      return code.bit === undefined || isSet(code.bit) ? leave(code.depth) : { operators: 1, runs: 0, leaves: 0 };
    case 'switch': {
      const last = code.depths.length - 1;
      return leave(code.depths[Math.min(isSet(code.bit) ? 1 : 0, last)] ?? 0);
    }
  }
}
