// Goal: a budget never gives more than it has, serves in order, and disturbs only holders that kept others waiting too
// long (TM1, TM2). Method: takers in one process, at a time that the test moves.
import { describe, expect, it } from 'vitest';
import { ByteBudget, type Hold } from '../../../src/transport/byte-budget.ts';
import { ManualTime } from '../../support/budget-time.ts';

const NEVER = new AbortController().signal;
const nothing = (): void => undefined;

function budgetOf(bytesMax: number): ByteBudget {
  return new ByteBudget({ bytesMax, patienceMs: 60_000, time: new ManualTime() });
}

describe('a budget', () => {
  it('gives what it has and no more', () => {
    const budget = budgetOf(10);
    const hold = budget.tryTake(7, nothing);
    expect(budget.tryTake(4, nothing)).toBeUndefined();
    expect(budget.tryTake(3, nothing)?.bytes).toBe(3);
    hold?.release();
    hold?.release();
    expect(budget.used).toBe(3);
  });

  it('lets a holder grow as far as there is room, and counts what cannot be refused', () => {
    const budget = budgetOf(10);
    const hold = budget.takeAnyway(4, nothing);
    expect(hold.tryGrow(10)).toBe(true);
    expect(hold.tryGrow(11)).toBe(false);
    hold.resize(12);
    expect(budget.used).toBe(12);
    expect(budget.takeAnyway(5, nothing).bytes).toBe(5);
    hold.release();
    hold.resize(100);
    expect(budget.used).toBe(5);
  });

  it('serves in order: a small one does not overtake a large one', async () => {
    const budget = budgetOf(10);
    const first = budget.tryTake(8, nothing);
    const order: string[] = [];
    const large = budget.take(9, nothing, NEVER).then((hold) => {
      order.push('large');
      return hold;
    });
    const small = budget.take(1, nothing, NEVER).then(() => order.push('small'));
    expect(budget.tryTake(1, nothing)).toBeUndefined();
    expect(budget.waiting).toBe(2);
    first?.release();
    await Promise.all([large, small]);
    expect(order).toEqual(['large', 'small']);
  });

  it('grants more than the whole as the whole', async () => {
    expect((await budgetOf(10).take(50, nothing, NEVER)).bytes).toBe(10);
  });

  it('forgets a taker that gives up, and serves the one behind it', async () => {
    const budget = budgetOf(10);
    budget.tryTake(8, nothing);
    const leaving = new AbortController();
    const large = budget.take(9, nothing, leaving.signal);
    const small = budget.take(2, nothing, NEVER);
    leaving.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect((await small).bytes).toBe(2);
    await expect(budget.take(1, nothing, leaving.signal)).rejects.toThrow('gone');
  });
});

describe('a holder', () => {
  it('is left alone while nobody waits, and told to go when somebody does and it had its time', async () => {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 20, time });
    const told: string[] = [];
    const old = budget.tryTake(9, () => {
      told.push('old');
      old?.release();
    });
    expect(budget.tryTake(5, nothing)).toBeUndefined();
    time.advance(60);
    expect(told).toEqual([]);
    expect((await budget.take(5, nothing, NEVER)).bytes).toBe(5);
    expect(told).toEqual(['old']);
  });

  it('is told once, and no more are told than are needed', async () => {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 20, time });
    const told: number[] = [];
    const holds: (Hold | undefined)[] = [1, 2].map((n) => budget.tryTake(5, () => told.push(n)));
    const waiting = budget.take(5, nothing, NEVER);
    time.advance(19);
    expect(told).toEqual([]);
    for (let n = 0; n < 5; n++) time.advance(10);
    expect(told).toEqual([1]);
    holds[0]?.release();
    await waiting;
    expect(told).toEqual([1]);
  });

  it('has its time anew after a step, and for ever when it is pinned', async () => {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 40, time });
    const told: string[] = [];
    const pinned = budget.tryTake(4, () => told.push('pinned'));
    const busy = budget.tryTake(6, () => told.push('busy'));
    pinned?.pin();
    const waiting = budget.take(5, nothing, NEVER);
    for (let n = 0; n < 10; n++) {
      time.advance(30);
      busy?.renew();
    }
    expect(told).toEqual([]);
    time.advance(50);
    expect(told).toEqual(['busy']);
    busy?.release();
    await waiting;
  });
});
