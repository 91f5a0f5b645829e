// Goal: an allowance gives what it has and no more, gets back once what it gave (TM1), and keeps a little for each
// connection (TM4). Method: examples.
import { describe, expect, it } from 'vitest';
import { Allowance } from '../../../src/transport/allowance.ts';

/** 75 for all, and of 25 a connection has 10. */
const allowanceOf = (): Allowance => new Allowance({ bytesMax: 100, reservedBytesMax: 10 });

describe('an allowance', () => {
  it('gives the common part to anybody, and a little more to each', () => {
    const allowance = allowanceOf();
    const [greedy, other, third] = [allowance.of({}), allowance.of({}), allowance.of({})];
    expect([greedy.tryAdd(75), greedy.tryAdd(11), greedy.tryAdd(10), greedy.tryAdd(1)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([other.tryAdd(10), other.tryAdd(1)]).toEqual([true, false]);
    expect([third.tryAdd(6), third.tryAdd(5)]).toEqual([false, true]);
    expect(allowance.used).toBe(100);
  });

  it('serves again and again a connection that lets go, while others keep all they get', () => {
    const allowance = allowanceOf();
    const greedy = allowance.of({});
    while (greedy.tryAdd(1));
    const quick = allowance.of({});
    for (let n = 0; n < 100; n++) {
      expect(quick.tryAdd(8)).toBe(true);
      quick.giveBack(8);
    }
  });

  it('gets the reserve back first', () => {
    const allowance = allowanceOf();
    const [one, other] = [allowance.of({}), allowance.of({})];
    expect([one.tryAdd(70), one.tryAdd(10)]).toEqual([true, true]);
    one.giveBack(5);
    expect([one.tryAdd(10), one.tryAdd(5)]).toEqual([false, true]);
    one.giveBack(80);
    expect([allowance.used, other.tryAdd(75)]).toEqual([0, true]);
  });

  it('knows a connection again', () => {
    const allowance = allowanceOf();
    const connection = {};
    expect([allowance.of({}).tryAdd(75), allowance.of(connection).tryAdd(10)]).toEqual([true, true]);
    expect(allowance.of(connection).tryAdd(1)).toBe(false);
  });

  it('takes a share back once', () => {
    const allowance = allowanceOf();
    const claim = allowance.of({});
    const share = claim.tryTake(30);
    claim.tryTake(10);
    share?.release();
    share?.release();
    expect(allowance.used).toBe(10);
    expect(claim.tryTake(76)).toBeUndefined();
  });
});
