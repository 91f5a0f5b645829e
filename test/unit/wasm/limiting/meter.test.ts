// Goal: a metered module has the same results, uses the same fuel each time, and ends (G3, G8, G9). Method: programs
// with and without metering; endless loops; bodies that jump around their charges.
import { describe, expect, it } from 'vitest';
import { meter } from '#wasm';
import { instantiate } from '../../../support/wasm/engine.ts';
import { PROGRAMS } from '../../../support/wasm/programs.ts';
import { fuelOf, functionOf, metered, withFuel } from '../../../support/wasm/rewritten.ts';
import { wat } from '../../../support/wasm/wat.ts';

const MUCH = 1_000_000n;
const EXHAUSTED = -1n;

describe('meter', () => {
  it.each(PROGRAMS)('changes no result: $what (G8)', async ({ fields, argument }) => {
    const plain = functionOf(instantiate(await wat(`(module ${fields})`)), 'run')(argument);
    expect(functionOf(await withFuel(fields, MUCH), 'run')(argument)).toBe(plain);
  });

  it.each(PROGRAMS)('uses the same fuel in two runs: $what (G9)', async ({ fields, argument }) => {
    const takes = async (): Promise<bigint> => {
      const exports = await withFuel(fields, MUCH);
      functionOf(exports, 'run')(argument);
      return MUCH - fuelOf(exports);
    };
    const first = await takes();
    expect(first).toBeGreaterThan(0n);
    expect(await takes()).toBe(first);
  });

  it.each([
    ['a loop', '(func (export "run") (loop (br 0)))'],
    ['a loop that nothing but a branch leads to', '(func (export "run") (block (br 0)) (loop (block (br 1))))'],
    ['a loop of tail calls', '(func $f (export "run") (return_call $f))'],
    [
      'a loop of indirect tail calls',
      '(type $t (func)) (table funcref (elem $f)) (func $f (export "run") (return_call_indirect (type $t) (i32.const 0)))',
    ],
    ['a loop in a loop', '(func (export "run") (loop (loop (br 1))))'],
    ['a loop in a branch not taken at first', '(func (export "run") (if (i32.const 1) (then (loop (br 0))) (else)))'],
    [
      'a loop of fills of nothing',
      '(memory 1) (func (export "run") (loop (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)) (br 0)))',
    ],
  ])('ends %s (G9)', async (_what, fields) => {
    const exports = await withFuel(fields, 10_000n);
    expect(() => functionOf(exports, 'run')()).toThrow('unreachable');
    expect(fuelOf(exports)).toBe(EXHAUSTED);
    expect(() => functionOf(exports, 'run')()).toThrow('unreachable');
  });

  it('ends a loop in a start function, which runs before the host has the counter (G9)', async () => {
    const module = await metered('(func $f (loop (br 0))) (start $f)');
    expect(() => instantiate(module)).toThrow('unreachable');
  });

  it('leaves the counter above zero when the guest itself traps', async () => {
    const exports = await withFuel('(func (export "run") unreachable)', 5n);
    expect(() => functionOf(exports, 'run')()).toThrow('unreachable');
    expect(fuelOf(exports)).toBe(4n);
  });

  it('charges operations on memory by their length', async () => {
    const fields = `(memory 8) (func (export "run") (param i32)
      (memory.fill (i32.const 0) (i32.const 1) (local.get 0))
      (memory.copy (i32.const 0) (i32.const 8) (local.get 0)))`;
    expect(await taken(fields, 0)).toBe(1n);
    expect(await taken(fields, 80_000)).toBe(20_001n);
  });

  it('charges operations on tables by their length, before they are carried out', async () => {
    const fields = `(table 90 funcref) (func (export "run") (param i32)
      (table.fill (i32.const 0) (ref.null func) (local.get 0)))`;
    expect(await taken(fields, 90)).toBe(91n);
    const filling = '(memory 1) (func (export "run") (memory.fill (i32.const 0) (i32.const 1) (i32.const -1)))';
    const exports = await withFuel(filling, 1000n);
    expect(() => functionOf(exports, 'run')()).toThrow('unreachable');
  });

  it('charges growth, also when it fails', async () => {
    const fields = '(memory 1) (func (export "run") (param i32) (drop (memory.grow (local.get 0))))';
    expect(await taken(fields, 1)).toBe(1001n);
    expect(await taken(fields, 60_000)).toBe(1001n);
  });

  it.each([
    ['straight on', 'nop '.repeat(20_000)],
    // A jump leaves each block in its middle, and so avoids the charges after it.
    ['by jumps', `(block ${'nop '.repeat(900)} (br_if 0 (i32.const 1)) ${'nop '.repeat(900)})`.repeat(20)],
    ['by jumps out of several blocks', `(block (block ${'nop '.repeat(900)} (br 1)) ${'nop '.repeat(900)})`.repeat(20)],
    [
      'by br_table',
      `(block (block ${'nop '.repeat(900)} (br_table 1 1 0 (i32.const 0))) ${'nop '.repeat(990)})`.repeat(20),
    ],
    ['around then', `(if (i32.const 0) (then ${'nop '.repeat(990)}) (else ${'nop '.repeat(900)}))`.repeat(20)],
    ['through then', `(if (i32.const 1) (then ${'nop '.repeat(900)}) (else ${'nop '.repeat(990)}))`.repeat(20)],
    ['around an if', `(if (i32.const 0) (then ${'nop '.repeat(990)} return)) ${'nop '.repeat(900)}`.repeat(20)],
  ])('charges a long body that is executed %s (G3)', async (_what, body) => {
    // Each body executes at least 18,000 operators.
    expect(await taken(`(func (export "run") (param i32) ${body})`, 0)).toBeGreaterThanOrEqual(18n);
  });

  it('keeps the indexes of all functions, globals and types', async () => {
    const fields = `
      (import "host" "double" (func $double (param i32) (result i32)))
      (import "host" "base" (global $base i32))
      (global $own (mut i32) (i32.const 5))
      (func (export "run") (param i32) (result i32)
        (global.set $own (i32.add (global.get $own) (call $double (local.get 0))))
        (i32.add (global.get $base) (global.get $own)))`;
    const host = { double: (value: number) => 2 * value, base: 1000 };
    expect(functionOf(instantiate(await metered(fields), { host }), 'run')(20)).toBe(1045);
  });

  it('rejects a module that is metered already', async () => {
    expect(meter(await metered('(func)'))).toMatchObject({ reason: { code: 'UnsafeName' } });
  });
});

async function taken(fields: string, argument: number): Promise<bigint> {
  const exports = await withFuel(fields, MUCH);
  functionOf(exports, 'run')(argument);
  return MUCH - fuelOf(exports);
}
