// Goal: an allowance gives what it has and no more, gets back once what it gave (TM1), and keeps for other connections
// as much as one has (TM4). Method: examples, and connections that take at random.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Allowance, type Claim } from '../../../src/transport/allowance.ts';

/** Takes by single bytes what it can get. */
function fill(claim: Claim): number {
  let bytes = 0;
  while (claim.tryAdd(1)) bytes++;
  return bytes;
}

describe('an allowance', () => {
  it('gives a connection that is alone the half of it', () => {
    const allowance = new Allowance(100);
    expect([fill(allowance.of({})), allowance.used]).toEqual([50, 50]);
  });

  it('gives nothing that would leave less than the connection then has', () => {
    const claim = new Allowance(100).of({});
    expect([claim.tryAdd(40), claim.tryAdd(21), claim.tryAdd(10)]).toEqual([true, false, true]);
  });

  it.each([1, 2, 8, 30])('leaves enough for another when %i connections keep what they can get', (count) => {
    const allowance = new Allowance(1_000);
    const greedy = Array.from({ length: count }, () => allowance.of({}));
    // In turn, as they would in time.
    while (greedy.map((claim) => claim.tryAdd(1)).includes(true));
    const even = Math.floor(1_000 / (count + 1));
    expect(1_000 - allowance.used).toBeGreaterThanOrEqual(even);
    const quick = allowance.of({});
    for (let n = 0; n < 100; n++) {
      expect(quick.tryAdd(Math.floor(even / 2))).toBe(true);
      quick.giveBack(Math.floor(even / 2));
    }
  });

  it('is never overdrawn, and gets everything back', () => {
    const arbSteps = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.integer({ min: 1, max: 60 }), fc.boolean()));
    fc.assert(
      fc.property(arbSteps, (steps) => {
        const allowance = new Allowance(100);
        const taken: (() => void)[] = [];
        const connections = [{}, {}, {}, {}];
        for (const [who, bytes, letsGo] of steps) {
          const share = allowance.of(connections[who] ?? {}).tryTake(bytes);
          if (share !== undefined) taken.push(() => share.release());
          if (letsGo) taken.shift()?.();
          expect(allowance.used).toBeLessThanOrEqual(100);
        }
        for (const release of taken) release();
        expect(allowance.used).toBe(0);
      }),
    );
  });

  it('knows a connection again', () => {
    const allowance = new Allowance(100);
    const connection = {};
    expect([allowance.of(connection).tryAdd(50), allowance.of(connection).tryAdd(1)]).toEqual([true, false]);
  });

  it('takes a share back once', () => {
    const allowance = new Allowance(100);
    const claim = allowance.of({});
    const share = claim.tryTake(30);
    claim.tryTake(10);
    share?.release();
    share?.release();
    expect(allowance.used).toBe(10);
    expect(claim.tryTake(81)).toBeUndefined();
  });
});
