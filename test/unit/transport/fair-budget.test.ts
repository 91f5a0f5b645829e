// Waiting takers are served in turn by connection, and slow ones do not delay quick ones (TM2, TM4).
import { describe, expect, it } from 'vitest';
import type { Hold } from '../../../src/transport/byte-budget.ts';
import { FairBudget, QUICK_MS, type Taker } from '../../../src/transport/fair-budget.ts';
import { ManualTime } from '../../support/budget-time.ts';

const NEVER: AbortSignal = new AbortController().signal;
const PATIENCE_MS = 10_000;
const STALLED_MS = PATIENCE_MS / 4;
const SLOW_MS = QUICK_MS + 250;
/** Of 32 bytes 24 are for all takers, and 8, the reserve, for quick ones. */
const COMMON = 24;

const nothing = (): void => undefined;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Bench {
  readonly time = new ManualTime();
  readonly budget: FairBudget;
  readonly granted: string[] = [];
  readonly holds = new Map<string, Hold>();
  readonly told: number[] = [];

  constructor(bytesMax = 32) {
    this.budget = new FairBudget({ bytesMax, patienceMs: PATIENCE_MS, time: this.time });
  }

  taker(connection: object = {}): Taker {
    return this.budget.taker(connection);
  }

  slow(connection: object = {}): Taker {
    const made = this.taker(connection);
    this.sent(made.takeAnyway(1, nothing), SLOW_MS);
    return made;
  }

  quick(connection: object = {}): Taker {
    const made = this.taker(connection);
    this.sent(made.takeAnyway(1, nothing), 0);
    return made;
  }

  fill(): Hold {
    return this.taker().takeAnyway(COMMON, nothing);
  }

  sent(hold: Hold | undefined, ms: number): void {
    hold?.renew();
    this.time.advance(ms);
    hold?.taken();
    hold?.release();
  }

  async ask(name: string, taker: Taker, bytes: number, signal: AbortSignal = NEVER): Promise<void> {
    const hold = await taker.take(bytes, nothing, signal);
    this.granted.push(name);
    this.holds.set(name, hold);
  }

  /** Holds as many bytes so many times for one connection; each is watched, and released when it is evicted. */
  crowd(count: number, bytes: number, connection: object = {}, first = 0): readonly Hold[] {
    return Array.from({ length: count }, (_, n) => {
      const hold: Hold = this.taker(connection).takeAnyway(bytes, () => {
        this.told.push(first + n);
        hold.release();
      });
      hold.watch();
      return hold;
    });
  }

  async seen(): Promise<readonly unknown[]> {
    await settled();
    return [this.told, this.granted];
  }
}

it('a new taker is as quick as its connection was seen to be last', () => {
  const bench = new Bench();
  bench.fill();
  const connection = {};
  bench.slow(connection);
  expect(bench.taker(connection).tryTake(1, nothing)).toBeUndefined();
  expect(bench.taker().tryTake(1, nothing)).toBeDefined();
  bench.quick(connection);
  expect(bench.taker(connection).tryTake(1, nothing)).toBeDefined();
});

it('a new taker is not quick for one that left without taking what was sent, and is slow for one that did so late', () => {
  const bench = new Bench();
  bench.fill();
  const [slow, other] = [{}, {}];
  bench.slow(slow);
  for (const [connection, afterMs] of [
    [slow, 0],
    [other, SLOW_MS],
  ] as const) {
    const hold = bench.taker(connection).takeAnyway(1, nothing);
    hold.renew();
    bench.time.advance(afterMs);
    hold.release();
    expect(bench.taker(connection).tryTake(1, nothing)).toBeUndefined();
  }
});

describe('waiting takers', () => {
  it('are served in order: a small one does not overtake a large one of its connection', async () => {
    const bench = new Bench();
    const filled = bench.fill();
    const connection = {};
    void bench.ask('large', bench.slow(connection), 20);
    void bench.ask('small', bench.slow(connection), 1);
    expect([bench.budget.waiting, bench.slow().tryTake(1, nothing)]).toEqual([2, undefined]);
    filled.resize(5);
    expect(await bench.seen()).toEqual([[], []]);
    filled.release();
    expect(await bench.seen()).toEqual([[], ['large', 'small']]);
  });

  it('are served by connection: one with many streams counts as one', async () => {
    const bench = new Bench();
    const [filled, crowd] = [bench.fill(), {}];
    for (let n = 0; n < 100; n++) void bench.ask(`crowd ${n}`, bench.slow(crowd), 6);
    for (const name of ['alone', 'other']) void bench.ask(name, bench.slow(), 6);
    filled.release();
    expect(await bench.seen()).toEqual([[], ['crowd 0', 'alone', 'other', 'crowd 1']]);
  });

  it('get every other grant of the common part, quick or slow, and no more than that part', async () => {
    const bench = new Bench();
    const filled = bench.fill();
    expect(bench.taker().tryTake(8, nothing)?.bytes).toBe(8);
    for (let n = 0; n < 4; n++) {
      void bench.ask(`quick ${n}`, bench.taker(), 6);
      void bench.ask(`slow ${n}`, bench.slow(), 6);
    }
    filled.release();
    expect(await bench.seen()).toEqual([[], ['quick 0', 'slow 0', 'quick 1', 'slow 1']]);
    expect((await new Bench().taker().take(50, nothing, NEVER)).bytes).toBe(COMMON);
  });

  it('are forgotten when they give up, and the next one is served', async () => {
    const bench = new Bench();
    bench.fill().resize(20);
    const leaving = new AbortController();
    const large = bench.slow().take(9, nothing, leaving.signal);
    const small = bench.slow().take(2, nothing, NEVER);
    leaving.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect([(await small).bytes, bench.budget.waiting]).toEqual([2, 0]);
    await expect(bench.slow().take(1, nothing, leaving.signal)).rejects.toThrow('gone');
  });
});

describe('a taker that borrows', () => {
  it('gets of the common part as long as more is free than its connection has, and again what that has returned', () => {
    const bench = new Bench();
    const [first, second, third] = [{}, {}, {}];
    const borrow = (connection: object): boolean => bench.taker(connection).tryBorrow(4, nothing) !== undefined;
    expect(Array.from({ length: 4 }, () => borrow(first))).toEqual([true, true, true, false]);
    expect(Array.from({ length: 3 }, () => borrow(second))).toEqual([true, true, false]);
    const other = new Bench();
    const hold = other.taker(third).tryBorrow(12, nothing);
    hold?.resize(8);
    expect(other.taker(third).tryBorrow(4, nothing)?.bytes).toBe(4);
    hold?.release();
    expect(other.taker(third).tryBorrow(12, nothing)?.bytes).toBe(8 + 4);
  });

  it('gets nothing that another taker waits for', async () => {
    const bench = new Bench();
    const held = bench.fill();
    void bench.ask('waits', bench.slow(), COMMON);
    held.resize(4);
    expect(bench.taker().tryBorrow(4, nothing)).toBeUndefined();
    held.release();
    expect(await bench.seen()).toEqual([[], ['waits']]);
  });
});

it('a quick taker has room where slow ones have none, until it is slow itself (TM4)', () => {
  const bench = new Bench();
  bench.fill();
  const [quick, late] = [bench.taker(), bench.slow()];
  expect(late.tryTake(1, nothing)).toBeUndefined();
  for (let n = 0; n < 5; n++) bench.sent(quick.tryTake(8, nothing), QUICK_MS);
  const last = quick.tryTake(8, nothing);
  expect(last?.bytes).toBe(8);
  bench.sent(last, QUICK_MS + 1);
  expect(quick.tryTake(8, nothing)).toBeUndefined();
});

describe('the reserve', () => {
  /** Of 320 bytes 80 are reserved, and a connection gets no more of them once it has 10. */
  const LARGE = 320;

  it('gives the new streams of a connection one hold, or several small ones, and the rest to others', async () => {
    const bench = new Bench(LARGE);
    bench.taker().takeAnyway(240, nothing);
    const [crowd, small] = [{}, {}];
    for (let n = 0; n < 100; n++) void bench.ask(`crowd ${n}`, bench.taker(crowd), 5);
    for (let n = 0; n < 3; n++) void bench.ask(`small ${n}`, bench.taker(small), 1);
    expect(await bench.seen()).toEqual([[], ['crowd 0', 'small 0', 'small 1']]);
    const others = Array.from({ length: 15 }, () => bench.taker().tryTake(5, nothing)?.bytes);
    expect(others).toEqual([...Array(14).fill(5), undefined]);
    bench.holds.get('crowd 0')?.release();
    expect(await bench.seen()).toEqual([[], ['crowd 0', 'small 0', 'small 1', 'crowd 1']]);
  });
});

describe('a connection that holds much, of which nothing leaves', () => {
  it('loses one hold to another connection that waits, which is served before its own (TM4)', async () => {
    const bench = new Bench();
    const [light, connection] = [bench.slow(), {}];
    bench.crowd(4, 6, connection);
    expect(bench.taker().tryTake(8, nothing)?.bytes).toBe(8);
    for (let n = 0; n < 5; n++) void bench.ask(`crowd ${n}`, bench.taker(connection), 6);
    bench.time.advance(STALLED_MS - 1);
    void bench.ask('light', light, 6);
    expect(await bench.seen()).toEqual([[], []]);
    bench.time.advance(1);
    expect(await bench.seen()).toEqual([[0], ['light']]);
  });

  it('loses what has stalled longest, and none of which parts leave (TM2)', async () => {
    const bench = new Bench();
    const holds = bench.crowd(4, 6);
    void bench.ask('light', bench.slow(), 6);
    for (let n = 0; n < 12; n++) {
      for (const hold of holds) hold.moved();
      bench.time.advance(STALLED_MS - 1);
    }
    expect(await bench.seen()).toEqual([[], []]);
    holds[0]?.moved();
    bench.time.advance(1);
    expect(await bench.seen()).toEqual([[1], ['light']]);
  });

  it('keeps as much as the other one will have, and all where that is not enough', async () => {
    for (const [count, bytes, wanted] of [
      [1, 12, 7],
      [2, 5, 6],
    ] as const) {
      const bench = new Bench();
      bench.crowd(count, bytes);
      bench.crowd(1, COMMON - count * bytes);
      void bench.ask('light', bench.slow(), wanted);
      bench.time.advance(PATIENCE_MS - SLOW_MS - 1);
      expect(await bench.seen()).toEqual([[], []]);
    }
  });

  it('loses several holds, the heaviest connection first, to the connections that have least', async () => {
    const bench = new Bench(64);
    const some = {};
    bench.crowd(6, 3);
    bench.crowd(9, 3, {}, 100);
    bench.taker(some).takeAnyway(3, nothing);
    const [one, light] = [bench.slow(some), bench.slow()];
    void bench.ask('some', one, 6);
    void bench.ask('light', light, 6);
    bench.time.advance(STALLED_MS - 2 * SLOW_MS);
    expect(await bench.seen()).toEqual([
      [100, 101, 102, 0],
      ['light', 'some'],
    ]);
  });
});

describe('connections with one hold each, of which nothing leaves', () => {
  const HOLD = COMMON / 6;

  function stand(bench: Bench): readonly Hold[] {
    return Array.from({ length: 8 }, (_, n) => {
      const hold = bench.taker().tryTake(HOLD, () => {
        bench.told.push(n);
        hold?.release();
      });
      if (hold === undefined) throw new Error('there is room for it');
      hold.watch();
      return hold;
    });
  }

  it.each([
    { who: 'was quick', make: (bench: Bench) => bench.quick(), part: 1 / 4 },
    { who: 'has shown nothing', make: (bench: Bench) => bench.taker(), part: 1 / 4 },
    { who: 'was slow', make: (bench: Bench) => bench.slow(), part: 1 },
  ])('lose one to a connection that has none and $who, after $part of the patience', ({ make, part }) => {
    const bench = new Bench();
    const taker = make(bench);
    const holds = stand(bench);
    bench.time.advance(part * PATIENCE_MS - 1);
    expect(taker.tryTake(HOLD, nothing)).toBeUndefined();
    // One that moves is not evicted (TM2).
    holds[0]?.moved();
    bench.time.advance(1);
    expect([taker.tryTake(HOLD, nothing)?.bytes, bench.told]).toEqual([HOLD, [1]]);
  });
});
