// Goal: no memory or table grows beyond its share, and a capped module is otherwise unchanged (G7). Method: modules
// that grow until growth fails, and the maxima that the engine sees.
import { describe, expect, it } from 'vitest';
import { cap } from '#wasm';
import { instantiate, isValid } from '../../../support/wasm/engine.ts';
import { PROGRAMS } from '../../../support/wasm/programs.ts';
import { capped, functionOf } from '../../../support/wasm/rewritten.ts';
import { wat, watOf } from '../../../support/wasm/wat.ts';

const GROWTH = { memoryPages: 10, tableElements: 50 };

describe('cap', () => {
  it.each([
    ['a memory without a maximum', '(memory 2)', '(memory (;0;) 2 12)'],
    ['a memory with a high maximum', '(memory 0 65536)', '(memory (;0;) 0 10)'],
    ['a memory with a low maximum', '(memory 1 3)', '(memory (;0;) 1 3)'],
    ['a table without a maximum', '(table 5 funcref)', '(table (;0;) 5 55 funcref)'],
    ['a table with a low maximum', '(table 5 5 externref)', '(table (;0;) 5 5 externref)'],
    ['every table', '(table 1 funcref) (table 2 externref)', '(table (;1;) 2 52 externref)'],
    ['nothing that is imported', '(import "m" "m" (memory 1))', '(memory (;0;) 1)'],
  ])('gives %s its maximum', async (_what, fields, expected) => {
    expect(await watOf(await capped(fields, GROWTH))).toContain(expected);
  });

  it('stops a loop that grows memory', async () => {
    const grow = '(loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))';
    const exports = instantiate(
      await capped(`(memory 1) (func (export "run") (result i32) ${grow} memory.size)`, GROWTH),
    );
    expect(functionOf(exports, 'run')()).toBe(11);
  });

  it.each(PROGRAMS)('does not change the rest of a module: $what', async ({ fields, argument }) => {
    const plain = instantiate(await wat(`(module ${fields})`));
    const rewritten = await capped(fields);
    expect(isValid(rewritten)).toBe(true);
    expect(functionOf(instantiate(rewritten), 'run')(argument)).toBe(functionOf(plain, 'run')(argument));
  });

  it('rejects bytes that are not a core module', () => {
    expect(cap(new Uint8Array(3), GROWTH)).toMatchObject({ reason: { code: 'InvalidComponent', offset: 0 } });
  });
});
