// Goal: values pass into and out of a component as the component model defines (G11, G12). Method: random types and
// values pass through a component, in our linker and in the glue code of jco, with equal values and memory.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Value } from '#wasm';
import { linkedWith } from '../../../support/wasm/linked.ts';
import { transpiled } from '../../../support/wasm/transpiled.ts';
import { forJco, passing, valuesOf, type WitType, witTypes } from '../../../support/wasm/wit-types.ts';

const cases = witTypes.chain((type) => valuesOf(type).map((value) => ({ type: wrapped(type), value: [value] })));

it('passes values like jco, with the same bytes in memory', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ type, value }) => {
      const component = await passing(type);
      const ours = passedHere(component, value);
      const jco = await passedByJco(component, forJco(type, value));
      expect(ours.values).toEqual([value, value]);
      expect(jco.values.map(plain)).toEqual([forJco(type, value), forJco(type, value)].map(plain));
      expect(ours.memory.equals(jco.memory)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

interface Passed {
  /** Arguments of the host function, and the final result. */
  readonly values: readonly unknown[];
  readonly memory: Buffer;
}

function passedHere(component: Uint8Array, value: Value): Passed {
  const seen: Value[] = [];
  const guest = linkedWith(component, () => ([given]) => {
    seen.push(given);
    return given;
  });
  const answer = guest.call('pass', [value]);
  return { values: [...seen, answer], memory: memoryOf(guest.cores) };
}

async function passedByJco(component: Uint8Array, value: unknown): Promise<Passed> {
  const seen: unknown[] = [];
  const take = (given: unknown): unknown => {
    seen.push(given);
    return given;
  };
  const host = { 'cairn:component/state-reader': { take }, 'cairn:component/types': {} };
  const { guest, cores } = await transpiled(component, host);
  const answer = guest['pass']?.(value);
  return { values: [...seen, answer], memory: memoryOf(cores.map(({ exports }) => exports)) };
}

function memoryOf(cores: readonly Readonly<Record<string, object>>[]): Buffer {
  const [memory] = cores.flatMap((exports) =>
    'memory' in exports ? [exports['memory'] as { buffer: ArrayBuffer }] : [],
  );
  return Buffer.from(memory?.buffer ?? new ArrayBuffer(0));
}

/** jco throws the error when a function returns a result, so a result is always inside another type. */
function wrapped(type: WitType): WitType {
  return { kind: 'tuple', parts: [type] };
}

/** In jco, lists of numbers are typed arrays, and an absent value equals undefined. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) => (part === undefined ? [] : [[key, plain(part)]])),
  );
}
