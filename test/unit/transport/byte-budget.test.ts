// A budget never grants more than it has, and evicts only holders that kept others waiting too long (TM1, TM2).
import { describe, expect, it } from 'vitest';
import { ByteBudget, type Hold } from '../../../src/transport/byte-budget.ts';
import { createByteBudgets } from '../../../src/transport/byte-budgets.ts';
import { ManualTime } from '../../support/budget-time.ts';

const nothing = (): void => undefined;
const PATIENCE_MS = 40;

interface Bench {
  readonly time: ManualTime;
  readonly budget: ByteBudget;
  readonly told: string[];
  readonly rooms: () => number;
}

function bench(bytesMax: number): Bench {
  const time = new ManualTime();
  let count = 0;
  const budget = new ByteBudget({ bytesMax, patienceMs: PATIENCE_MS, time, onRoom: () => void count++ });
  return { time, budget, told: [], rooms: () => count };
}

it('a budget grants what it has and no more, and counts what cannot be refused', () => {
  const { budget, rooms } = bench(10);
  const hold = budget.tryTake(7, nothing);
  expect([budget.tryTake(4, nothing), budget.tryTake(3, nothing)?.bytes]).toEqual([undefined, 3]);
  hold?.release();
  hold?.release();
  expect([budget.used, rooms()]).toEqual([3, 1]);
  const other = budget.takeAnyway(4, nothing);
  expect([other.tryGrow(7), other.tryGrow(8)]).toEqual([true, false]);
  other.resize(12);
  expect([budget.used, budget.takeAnyway(5, nothing).bytes, rooms()]).toEqual([15, 5, 1]);
  other.resize(11);
  other.release();
  other.resize(100);
  expect([budget.used, rooms()]).toEqual([8, 3]);
});

it('a holder is evicted once its time is over and its bytes are needed, and no more are than that takes', () => {
  const { time, budget, told } = bench(10);
  const holds = ['one', 'two'].map((name) => budget.tryTake(5, () => told.push(name)));
  time.advance(PATIENCE_MS - 1);
  expect([budget.hasRoom(5), told]).toEqual([false, []]);
  for (let n = 0; n < 3; n++) {
    time.advance(10);
    expect([budget.hasRoom(5), told]).toEqual([false, ['one']]);
  }
  holds[0]?.release();
  expect([budget.tryTake(5, nothing)?.bytes, told]).toEqual([5, ['one']]);
});

it('a holder has its time anew after a step, and for ever when it is pinned', () => {
  const { time, budget, told } = bench(10);
  const pinned = budget.tryTake(4, () => told.push('pinned'));
  const busy = budget.tryTake(6, () => told.push('busy'));
  pinned?.pin();
  for (let n = 0; n < 10; n++) {
    time.advance(PATIENCE_MS - 10);
    busy?.renew();
    expect([budget.hasRoom(5), told]).toEqual([false, []]);
  }
  time.advance(PATIENCE_MS);
  expect([budget.hasRoom(5), told]).toEqual([false, ['busy']]);
  busy?.release();
  expect(budget.hasRoom(5)).toBe(true);
});

describe('a holder that reports its progress', () => {
  function fullBench(): Bench & { readonly holds: readonly [Hold, Hold] } {
    const at = bench(200_000);
    const take = (name: string): Hold => {
      const hold: Hold = at.budget.takeAnyway(100_000, () => {
        at.told.push(name);
        hold.release();
      });
      hold.watch();
      return hold;
    };
    return { ...at, holds: [take('a'), take('b')] };
  }

  it('is evicted for a taker of less patience once it has stalled for that long', () => {
    const { time, budget, told } = fullBench();
    time.advance(10);
    expect(budget.tryTake(50_000, nothing, 11)).toBeUndefined();
    expect([budget.tryTake(50_000, nothing, 10)?.bytes, told]).toEqual([50_000, ['a']]);
  });

  it('is evicted for a body over HTTP as for a sender that is not known', () => {
    const time = new ManualTime();
    const limits = { requestBytesMax: 100_000, unsentBytesMax: 1, patienceMs: PATIENCE_MS, time };
    const { requests } = createByteBudgets(limits);
    const half: Hold = requests.takeAnyway(100_000, () => half.release());
    half.watch();
    time.advance(PATIENCE_MS / 4 - 1);
    expect([requests.hasRoom(50_000), requests.tryTake(50_000, nothing)]).toEqual([false, undefined]);
    time.advance(1);
    expect(requests.tryTake(50_000, nothing)?.bytes).toBe(50_000);
  });

  it('is not evicted while it moves, and has not moved when only a little has come', () => {
    for (const [bytes, evicted] of [
      [20_000, 'b'],
      [1, 'a'],
    ] as const) {
      const { time, budget, told, holds } = fullBench();
      holds[0].resize(50_000);
      for (let n = 1; n < 4; n++) {
        time.advance(3);
        holds[0].tryGrow(50_000 + n * bytes);
      }
      time.advance(1);
      expect([budget.hasRoom(60_000, 10), told]).toEqual([true, [evicted]]);
    }
  });

  it('is not evicted where that is not enough, nor sooner than others when it stops reporting', () => {
    const { time, budget, told, holds } = fullBench();
    time.advance(10);
    expect(budget.hasRoom(201_000, 10)).toBe(false);
    for (const hold of holds) hold.unwatch();
    expect([budget.hasRoom(100_000, 10), told]).toEqual([false, []]);
    time.advance(PATIENCE_MS - 10);
    expect(budget.hasRoom(100_000, 10)).toBe(true);
  });
});
