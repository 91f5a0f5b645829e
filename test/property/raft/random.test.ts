// Goal: several draws of the generator at once give the same state as single draws. Method: random seeds and counts.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawRandom, drawRandoms } from '../../../src/raft/random.ts';

it('several draws at once equal the same number of single draws', () => {
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.nat(3000), (seed, count) => {
      let next = seed;
      for (let at = 0; at < count; at += 1) next = drawRandom(next);
      expect(drawRandoms(seed, count)).toBe(next);
    }),
  );
});

it('several draws at once work for the maximum number', () => {
  const HALF = 2 ** 40 + 12_345;
  expect(drawRandoms(7, 2 * HALF)).toBe(drawRandoms(drawRandoms(7, HALF), HALF));
});
