// Goal: a budget never gives more than it has, and disturbs only holders that kept others waiting too long (TM1, TM2).
// Method: takers in one process, at a time that the test moves.
import { describe, expect, it } from 'vitest';
import { ByteBudget, type Hold } from '../../../src/transport/byte-budget.ts';
import { ManualTime } from '../../support/budget-time.ts';

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

  it('says when there is more room than before', () => {
    let count = 0;
    const onRoom = (): void => {
      count++;
    };
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 60_000, time: new ManualTime(), onRoom });
    const hold = budget.tryTake(5, nothing);
    hold?.resize(6);
    expect(count).toBe(0);
    hold?.resize(4);
    expect(count).toBe(1);
    hold?.release();
    expect(count).toBe(2);
  });
});

describe('a holder', () => {
  it('is left alone while nobody needs its bytes, and told to go when somebody does and it had its time', () => {
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
    expect(budget.tryTake(5, nothing)?.bytes).toBe(5);
    expect(told).toEqual(['old']);
  });

  it('is told once, and no more are told than are needed', () => {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 20, time });
    const told: number[] = [];
    const holds: (Hold | undefined)[] = [1, 2].map((n) => budget.tryTake(5, () => told.push(n)));
    for (const ms of [19, 10, 10, 10]) {
      expect(told).toEqual(ms === 19 || time.nowMs() < 20 ? [] : [1]);
      time.advance(ms);
      expect(budget.hasRoom(5)).toBe(false);
    }
    holds[0]?.release();
    expect(budget.tryTake(5, nothing)?.bytes).toBe(5);
    expect(told).toEqual([1]);
  });

  it('has its time anew after a step, and for ever when it is pinned', () => {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 10, patienceMs: 40, time });
    const told: string[] = [];
    const pinned = budget.tryTake(4, () => told.push('pinned'));
    const busy = budget.tryTake(6, () => told.push('busy'));
    pinned?.pin();
    for (let n = 0; n < 10; n++) {
      time.advance(30);
      busy?.renew();
      expect(budget.hasRoom(5)).toBe(false);
    }
    expect(told).toEqual([]);
    time.advance(50);
    expect(budget.hasRoom(5)).toBe(false);
    expect(told).toEqual(['busy']);
    busy?.release();
    expect(budget.hasRoom(5)).toBe(true);
  });
});
