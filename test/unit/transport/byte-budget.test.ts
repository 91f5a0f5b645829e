// Goal: a budget never gives more than it has, and disturbs only holders that kept others waiting too long (TM1, TM2).
// Method: takers in one process, at a time that the test moves.
import { describe, expect, it } from 'vitest';
import { ByteBudget, type Hold } from '../../../src/transport/byte-budget.ts';
import { createByteBudgets } from '../../../src/transport/byte-budgets.ts';
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

describe('a holder of which each part is seen', () => {
  /** Of 20 bytes all are held, by halves; who has told to go is noted. */
  function fullBudget(): { time: ManualTime; budget: ByteBudget; told: string[]; holds: readonly Hold[] } {
    const time = new ManualTime();
    const budget = new ByteBudget({ bytesMax: 200_000, patienceMs: 40, time });
    const told: string[] = [];
    const holds = ['a', 'b'].map((name) => {
      const hold: Hold = budget.takeAnyway(100_000, () => {
        told.push(name);
        hold.release();
      });
      hold.watch();
      return hold;
    });
    return { time, budget, told, holds };
  }

  it('makes way for whoever has less patience once it has stood still for that long', () => {
    const { time, budget, told } = fullBudget();
    time.advance(10);
    expect(budget.tryTake(50_000, nothing, 11)).toBeUndefined();
    expect(budget.tryTake(50_000, nothing, 10)?.bytes).toBe(50_000);
    expect(told).toEqual(['a']);
  });

  it('makes way for a body over HTTP as for a sender of whom nothing is known', () => {
    const time = new ManualTime();
    const { requests } = createByteBudgets({ requestBytesMax: 100_000, unsentBytesMax: 1, patienceMs: 40, time });
    const half: Hold = requests.takeAnyway(100_000, () => half.release());
    half.watch();
    time.advance(9);
    expect([requests.hasRoom(50_000), requests.tryTake(50_000, nothing)]).toEqual([false, undefined]);
    time.advance(1);
    expect(requests.tryTake(50_000, nothing)?.bytes).toBe(50_000);
  });

  it('does not make way as long as it moves', () => {
    const { time, budget, told, holds } = fullBudget();
    for (let n = 0; n < 5; n++) {
      time.advance(8);
      holds[0]?.resize(50_000);
      holds[0]?.tryGrow(50_000 + 20_000);
      expect(budget.hasRoom(100_000, 10)).toBe(n > 0);
      expect(told).toEqual(n > 0 ? ['b'] : []);
    }
  });

  it('has not moved when only a little has come', () => {
    const { time, budget, told, holds } = fullBudget();
    holds[0]?.resize(50_000);
    for (let n = 1; n < 5; n++) {
      time.advance(3);
      holds[0]?.tryGrow(50_000 + n);
    }
    expect(budget.hasRoom(60_000, 10)).toBe(true);
    expect(told).toEqual(['a']);
  });

  it('is not disturbed when it would not be enough, nor when no part of it is seen any more', () => {
    const { time, budget, told, holds } = fullBudget();
    time.advance(10);
    expect(budget.hasRoom(201_000, 10)).toBe(false);
    for (const hold of holds) hold.unwatch();
    expect(budget.hasRoom(100_000, 10)).toBe(false);
    expect(told).toEqual([]);
    time.advance(30);
    expect(budget.hasRoom(100_000, 10)).toBe(true);
  });

  it('may have to make way for itself, and then does not grow', () => {
    const { time, budget, told, holds } = fullBudget();
    time.advance(10);
    expect(holds[0]?.tryGrow(100_001, 10)).toBe(false);
    expect(told).toEqual(['a']);
    expect(budget.used).toBe(100_000);
  });
});
