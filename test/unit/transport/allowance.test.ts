// An allowance grants what it has and no more, gets it back once (TM1), and keeps for others as much as one has (TM4).
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Allowance, type Claim } from '../../../src/transport/allowance.ts';

function fill(claim: Claim): number {
  let bytes = 0;
  while (claim.tryAdd(1)) bytes++;
  return bytes;
}

it('an allowance gives a connection that is alone half of it, under any claim', () => {
  const allowance = new Allowance(100);
  const connection = {};
  const claim = allowance.of(connection);
  expect([claim.tryAdd(40), claim.tryAdd(21), claim.tryAdd(10)]).toEqual([true, false, true]);
  expect([fill(allowance.of(connection)), allowance.used]).toEqual([0, 50]);
});

it.each([1, 2, 8, 30])('an allowance leaves enough for another when %i connections keep what they can get', (count) => {
  const allowance = new Allowance(1_000);
  const greedy = Array.from({ length: count }, () => allowance.of({}));
  while (greedy.map((claim) => claim.tryAdd(1)).includes(true));
  const even = Math.floor(1_000 / (count + 1));
  expect(1_000 - allowance.used).toBeGreaterThanOrEqual(even);
  const quick = allowance.of({});
  for (let n = 0; n < 100; n++) {
    expect(quick.tryAdd(Math.floor(even / 2))).toBe(true);
    quick.giveBack(Math.floor(even / 2));
  }
});

it('an allowance is never overdrawn, and gets everything back', () => {
  const arbSteps = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.integer({ min: 1, max: 60 }), fc.boolean()));
  fc.assert(
    fc.property(arbSteps, (steps) => {
      const allowance = new Allowance(100);
      const taken: (() => unknown)[] = [];
      const connections = [{}, {}, {}, {}];
      for (const [who, bytes, letsGo] of steps) {
        const share = allowance.of(connections[who] ?? {}).tryTake(bytes);
        const release = (): void => share?.release();
        taken.push(() => [release(), release()]);
        if (letsGo) taken.shift()?.();
        expect(allowance.used).toBeLessThanOrEqual(100);
      }
      for (const release of taken) release();
      expect(allowance.used).toBe(0);
    }),
  );
});
