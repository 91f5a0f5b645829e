// Goal: where an engine has no memory to write a long text as JSON, what is written is what it would have written.
// Method: Node's JSON that has no memory for longer texts, mended, beside the one that has.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type EngineJson, mendJson } from '../../sdk/component/src/memory.ts';

/** What the engine can write at once. */
const LENGTH_MAX = 20_000;
/** It throws this, which is no Error. */
const NO_MEMORY = AbortSignal.abort('out of memory');

interface NodeJson {
  readonly stringify: (value: unknown, replacer?: unknown, space?: string | number) => string | undefined;
  readonly rawJSON: (text: string) => unknown;
}
const node = JSON as unknown as NodeJson;

function mended(): EngineJson {
  const json: EngineJson = {
    stringify: (value, replacer, space) => {
      if (Array.isArray(replacer)) return node.stringify(value, replacer, space);
      return node.stringify(value, poor(replacer), space);
    },
    rawJSON: (text) => node.rawJSON(text),
  };
  mendJson(json);
  return json;
}

/** The replacer, and no memory for what it gives. */
function poor(replacer: unknown): unknown {
  return function replaced(this: unknown, key: string, value: unknown): unknown {
    const given: unknown = typeof replacer === 'function' ? Reflect.apply(replacer, this, [key, value]) : value;
    if (typeof given === 'string' && given.length > LENGTH_MAX) NO_MEMORY.throwIfAborted();
    return given;
  };
}

const letters = fc.constantFrom('x', '\n', '"', '\u0001', 'ж', '🏦', '\ud83c', '\udfe6');
const long = fc.tuple(fc.array(letters, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 12_000 }));
const texts = long.map(([parts, times]) => parts.join('').repeat(times));
const objects = fc.record({ a: texts, b: fc.array(texts, { maxLength: 3 }), c: fc.constant(undefined), d: fc.date() });
const values = fc.oneof(texts, objects);

it('a mended JSON writes what the engine has no memory for', () => {
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, 2), (value, space) => {
      expect(mended().stringify(value, undefined, space) === node.stringify(value, undefined, space)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

it('a mended JSON asks the replacer as before, and leaves what the engine refuses', () => {
  const value = { a: 'x'.repeat(2 * LENGTH_MAX), b: 1 };
  const upper = (_: string, each: unknown): unknown => (typeof each === 'string' ? each.toUpperCase() : each);
  expect(mended().stringify(value, upper)).toBe(node.stringify(value, upper));
  expect(mended().stringify(value, ['b'])).toBe('{"b":1}');
  expect(() => mended().stringify(1n)).toThrow(/BigInt/);
  expect(mended().stringify(undefined)).toBeUndefined();
});
