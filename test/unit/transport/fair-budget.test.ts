// Goal: whoever waits for room is served in turn, by connection, and takers that keep their bytes long do not hold up
// those that let go of them soon (TM2, TM4). Method: takers in one process, at a time that the test moves.
import { describe, expect, it } from 'vitest';
import type { Hold } from '../../../src/transport/byte-budget.ts';
import { QUICK_MS } from '../../../src/transport/fair-budget.ts';
import {
  type Bench,
  benchOf,
  COMMON,
  Grants,
  NEVER,
  nothing,
  PATIENCE_MS,
  SLOW_MS,
  sent,
} from '../../support/fair-bench.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('one of whom nothing is known yet', () => {
  it('is what the last of its connection was seen to be', () => {
    const { time, taker, slow, fill } = benchOf();
    fill();
    const connection = {};
    slow(connection);
    expect(taker(connection).tryTake(1, nothing)).toBeUndefined();
    expect(taker().tryTake(1, nothing)).toBeDefined();
    sent(taker(connection).takeAnyway(1, nothing), time, 0);
    expect(taker(connection).tryTake(1, nothing)).toBeDefined();
  });
});

describe('one that goes without having taken what was sent', () => {
  it('has not shown that it is quick, and may show that it is slow', () => {
    const { time, taker, slow, fill } = benchOf();
    fill();
    const connection = {};
    slow(connection);
    const gone = (afterMs: number, from: object): void => {
      const hold = taker(from).takeAnyway(1, nothing);
      hold.renew();
      time.advance(afterMs);
      hold.release();
    };
    gone(0, connection);
    expect(taker(connection).tryTake(1, nothing)).toBeUndefined();
    const other = {};
    gone(SLOW_MS, other);
    expect(taker(other).tryTake(1, nothing)).toBeUndefined();
  });
});

describe('those who wait', () => {
  it('are served in order: a small one does not overtake a large one of its connection', async () => {
    const { budget, slow, fill } = benchOf();
    const filled = fill();
    const [connection, grants] = [{}, new Grants()];
    void grants.ask('large', slow(connection), 20);
    void grants.ask('small', slow(connection), 1);
    expect([budget.waiting, slow().tryTake(1, nothing)]).toEqual([2, undefined]);
    filled.resize(5);
    await settled();
    expect(grants.names).toEqual([]);
    filled.release();
    await settled();
    expect(grants.names).toEqual(['large', 'small']);
  });

  it('are served by connection: one with many streams counts as one', async () => {
    const { slow, fill } = benchOf();
    const [filled, crowd, grants] = [fill(), {}, new Grants()];
    for (let n = 0; n < 100; n++) void grants.ask(`crowd ${n}`, slow(crowd), 6);
    void grants.ask('alone', slow(), 6);
    void grants.ask('other', slow(), 6);
    filled.release();
    await settled();
    expect(grants.names).toEqual(['crowd 0', 'alone', 'other', 'crowd 1']);
  });

  it('get every other grant of the common part, quick or slow', async () => {
    const { taker, slow, fill } = benchOf();
    const [filled, grants] = [fill(), new Grants()];
    const reserved = taker().tryTake(8, nothing);
    for (let n = 0; n < 4; n++) {
      void grants.ask(`quick ${n}`, taker(), 6);
      void grants.ask(`slow ${n}`, slow(), 6);
    }
    filled.release();
    await settled();
    expect(grants.names).toEqual(['quick 0', 'slow 0', 'quick 1', 'slow 1']);
    expect(reserved?.bytes).toBe(8);
  });

  it('get no more than the common part, however much they ask for', async () => {
    const { taker } = benchOf();
    expect((await taker().take(50, nothing, NEVER)).bytes).toBe(COMMON);
  });

  it('are forgotten when they give up, and the next one is served', async () => {
    const { budget, slow, fill } = benchOf();
    const filled = fill();
    filled.resize(20);
    const leaving = new AbortController();
    const large = slow().take(9, nothing, leaving.signal);
    const small = slow().take(2, nothing, NEVER);
    expect(budget.waiting).toBe(2);
    leaving.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect([(await small).bytes, budget.waiting]).toEqual([2, 0]);
    await expect(slow().take(1, nothing, leaving.signal)).rejects.toThrow('gone');
  });

  it('get what those are made to give back who keep it too long, and no more of them go than must', async () => {
    const { time, slow } = benchOf();
    const told: number[] = [];
    for (const n of [1, 2, 3]) {
      const hold = slow().tryTake(8, () => {
        told.push(n);
        hold?.release();
      });
    }
    const grants = new Grants();
    void grants.ask('waiting', slow(), 8);
    time.advance(PATIENCE_MS - SLOW_MS * 4);
    expect(told).toEqual([]);
    time.advance(SLOW_MS * 2);
    await settled();
    expect([told, grants.names]).toEqual([[1], ['waiting']]);
  });

  it('may be among those who must give back', async () => {
    const { budget, time, slow, fill } = benchOf();
    const filled = fill();
    filled.resize(COMMON - 4);
    filled.pin();
    const leaving = new AbortController();
    const [both, grants] = [slow(), new Grants()];
    const hold = both.tryTake(4, () => {
      leaving.abort(new Error('cut'));
      hold?.release();
    });
    hold?.renew();
    const waiting = both.take(4, nothing, leaving.signal);
    void grants.ask('behind', slow(), 1);
    for (let n = 0; n < 4; n++) time.advance(PATIENCE_MS / 2);
    await expect(waiting).rejects.toThrow('cut');
    expect([grants.names, budget.waiting]).toEqual([['behind'], 0]);
  });
});

describe('a taker that borrows', () => {
  it('gets as long as more is free than its connection has, of the common part', () => {
    const { budget, taker } = benchOf();
    const [first, second] = [{}, {}];
    const borrow = (connection: object): boolean => taker(connection).tryBorrow(4, nothing) !== undefined;
    expect(Array.from({ length: 4 }, () => borrow(first))).toEqual([true, true, true, false]);
    expect(Array.from({ length: 3 }, () => borrow(second))).toEqual([true, true, false]);
    expect(budget.used).toBe(20);
  });

  it('gets what its connection has given back', () => {
    const { taker } = benchOf();
    const connection = {};
    const hold = taker(connection).tryBorrow(12, nothing);
    expect(taker(connection).tryBorrow(4, nothing)).toBeUndefined();
    hold?.resize(8);
    expect(taker(connection).tryBorrow(4, nothing)?.bytes).toBe(4);
    hold?.release();
    expect(taker(connection).tryBorrow(12, nothing)?.bytes).toBe(8 + 4);
  });

  it('gets nothing that somebody waits for', async () => {
    const { taker, slow, fill } = benchOf();
    const grants = new Grants();
    const held = fill();
    void grants.ask('waits', slow(), COMMON);
    held.resize(4);
    expect(taker().tryBorrow(4, nothing)).toBeUndefined();
    held.release();
    await settled();
    expect(grants.names).toEqual(['waits']);
  });
});

describe('a quick taker', () => {
  it('has room where slow ones have none (TM4)', () => {
    const { time, taker, slow, fill } = benchOf();
    fill();
    const [quick, late] = [taker(), slow()];
    expect(late.tryTake(1, nothing)).toBeUndefined();
    for (let n = 0; n < 5; n++) sent(quick.tryTake(8, nothing), time, QUICK_MS);
    const last = quick.tryTake(8, nothing);
    expect(last?.bytes).toBe(8);
    sent(last, time, QUICK_MS + 1);
    expect(quick.tryTake(8, nothing)).toBeUndefined();
  });

  it('gets on at its own pace however many slow ones wait (TM4)', async () => {
    const { budget, time, taker, slow } = benchOf();
    const [crowd, grants] = [{}, new Grants()];
    for (let n = 0; n < 500; n++) void grants.ask(`slow ${n}`, slow(crowd), 4);
    await settled();
    expect(budget.used).toBe(COMMON);
    const quick = taker();
    for (let n = 0; n < 100; n++) {
      const hold = quick.tryTake(4, nothing) ?? (await quick.take(4, nothing, NEVER));
      sent(hold, time, QUICK_MS / 2);
    }
    expect(budget.waiting).toBe(500 - COMMON / 4);
  });

  it('is one that was slow and lets go of what it has soon, also while it waits', async () => {
    const { time, slow, fill } = benchOf();
    const late = slow();
    const hold = late.tryTake(4, nothing);
    fill();
    const grants = new Grants();
    void grants.ask('late', late, 4);
    await settled();
    expect(grants.names).toEqual([]);
    sent(hold, time, QUICK_MS);
    await settled();
    expect(grants.names).toEqual(['late']);
  });

  it('is none that has not let go of what it has', async () => {
    const { time, taker, fill } = benchOf();
    const quick = taker();
    const hold = quick.tryTake(4, nothing);
    fill();
    expect(quick.tryTake(4, nothing)).toBeUndefined();
    const grants = new Grants();
    void grants.ask('quick', quick, 4);
    void grants.ask('next', taker(), 4);
    await settled();
    expect(grants.names).toEqual(['next']);
    sent(hold, time, 0);
    await settled();
    expect(grants.names).toEqual(['next', 'quick']);
  });

  it('is not judged by what the node did not send', () => {
    const { time, taker, fill } = benchOf();
    const quick = taker();
    const unused = quick.tryTake(4, nothing);
    time.advance(SLOW_MS);
    unused?.release();
    fill();
    expect(quick.tryTake(4, nothing)?.bytes).toBe(4);
  });

  it('that wants much gets it when half of the reserve is free, and the others wait meanwhile', async () => {
    const { budget, taker, fill } = benchOf();
    fill();
    const [first, grants] = [taker().tryTake(5, nothing), new Grants()];
    expect(taker().tryTake(9, nothing)).toBeUndefined();
    void grants.ask('large', taker(), 20);
    void grants.ask('small', taker(), 1);
    await settled();
    expect(grants.names).toEqual([]);
    first?.resize(4);
    await settled();
    expect([grants.names, budget.used]).toEqual([['large'], COMMON + 24]);
    grants.holds.get('large')?.resize(3);
    await settled();
    expect(grants.names).toEqual(['large', 'small']);
  });
});

describe('the reserve', () => {
  /** Of 320 bytes 80 are reserved, and a connection gets no more of them once it has 10. */
  const LARGE = 320;

  it('gives the new streams of a connection one hold, or several small ones, and the rest to others', async () => {
    const { budget, taker } = benchOf(LARGE);
    taker().takeAnyway(240, nothing);
    const [crowd, small, grants] = [{}, {}, new Grants()];
    for (let n = 0; n < 100; n++) void grants.ask(`crowd ${n}`, taker(crowd), 5);
    for (let n = 0; n < 3; n++) void grants.ask(`small ${n}`, taker(small), 1);
    await settled();
    expect([grants.names, budget.waiting]).toEqual([['crowd 0', 'small 0', 'small 1'], 100]);
    const others = Array.from({ length: 14 }, () => taker().tryTake(5, nothing));
    expect(others.every((hold) => hold?.bytes === 5)).toBe(true);
    expect(taker().tryTake(5, nothing)).toBeUndefined();
    grants.holds.get('crowd 0')?.release();
    await settled();
    expect(grants.names).toEqual(['crowd 0', 'small 0', 'small 1', 'crowd 1']);
  });

  it('counts for a connection what a slice has turned out to be', () => {
    const { taker } = benchOf(LARGE);
    taker().takeAnyway(240, nothing);
    const connection = {};
    const hold = taker(connection).tryTake(5, nothing);
    hold?.resize(2);
    expect(taker(connection).tryTake(1, nothing)).toBeUndefined();
    hold?.resize(1);
    expect(taker(connection).tryTake(1, nothing)?.bytes).toBe(1);
  });

  it('is given back as a whole', async () => {
    const { budget, taker } = benchOf(LARGE);
    const filled = taker().takeAnyway(240, nothing);
    const [connection, grants] = [{}, new Grants()];
    for (let n = 0; n < 20; n++) void grants.ask(`${n}`, taker(n % 2 === 0 ? connection : {}), 7);
    filled.release();
    await settled();
    expect(grants.names.length).toBe(20);
    for (const hold of grants.holds.values()) hold.release();
    expect([budget.used, budget.waiting, budget.bytesMax]).toEqual([0, 0, LARGE]);
    expect(taker().tryTake(240, nothing)?.bytes).toBe(240);
    expect(taker(connection).tryTake(80, nothing)?.bytes).toBe(80);
  });
});

describe('a connection that has much, of which nothing leaves', () => {
  const STALLED_MS = PATIENCE_MS / 4;

  interface Crowd {
    readonly connection: object;
    /** Of the takers that were told to go. */
    readonly told: number[];
    readonly holds: Hold[];
  }

  /** So many takers of one connection hold as many bytes each, on their way to a client. */
  function crowdOf({ taker }: Bench, count: number, bytes: number): Crowd {
    const connection = {};
    const told: number[] = [];
    const holds: Hold[] = [];
    for (let n = 0; n < count; n++) {
      const hold = taker(connection).takeAnyway(bytes, () => {
        told.push(n);
        hold.release();
      });
      hold.watch();
      holds.push(hold);
    }
    return { connection, told, holds };
  }

  it('gives back one hold to another that waits, which is served before its own (TM4)', async () => {
    const bench = benchOf();
    const light = bench.slow();
    const crowd = crowdOf(bench, 4, 6);
    const grants = new Grants();
    expect(bench.taker().tryTake(8, nothing)?.bytes).toBe(8);
    for (let n = 0; n < 5; n++) void grants.ask(`crowd ${n}`, bench.taker(crowd.connection), 6);
    bench.time.advance(STALLED_MS - 1);
    void grants.ask('light', light, 6);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[], []]);
    bench.time.advance(1);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[0], ['light']]);
  });

  it('gives back the one that has stood still longest, and none of which parts leave (TM2)', async () => {
    const bench = benchOf();
    const crowd = crowdOf(bench, 4, 6);
    const grants = new Grants();
    void grants.ask('light', bench.slow(), 6);
    for (let n = 0; n < 3 * 4; n++) {
      for (const hold of crowd.holds) hold.moved();
      bench.time.advance(STALLED_MS - 1);
    }
    await settled();
    expect([crowd.told, grants.names]).toEqual([[], []]);
    crowd.holds[0]?.moved();
    bench.time.advance(1);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[1], ['light']]);
  });

  it('gives back nothing of which nobody says when it leaves, before the patience is over', async () => {
    const bench = benchOf();
    const crowd = crowdOf(bench, 4, 6);
    for (const hold of crowd.holds) hold.release();
    const holds = Array.from({ length: 4 }, (_, n) => {
      const hold = bench.taker(crowd.connection).takeAnyway(6, () => {
        crowd.told.push(n);
        hold.release();
      });
      hold.renew();
      return hold;
    });
    const grants = new Grants();
    const light = bench.slow();
    void grants.ask('light', light, 6);
    bench.time.advance(PATIENCE_MS - SLOW_MS - 1);
    await settled();
    expect([holds.length, crowd.told, grants.names]).toEqual([4, [], []]);
    bench.time.advance(SLOW_MS + 1);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[0], ['light']]);
  });

  it('keeps as much as the other one will have', async () => {
    const bench = benchOf();
    const [one, two] = [crowdOf(bench, 1, 12), crowdOf(bench, 2, 6)];
    const grants = new Grants();
    void grants.ask('large', bench.slow(), 7);
    bench.time.advance(PATIENCE_MS - SLOW_MS - 1);
    await settled();
    expect([one.told, two.told, grants.names]).toEqual([[], [], []]);
    void grants.ask('small', bench.taker(), 6);
    bench.time.advance(0);
    await settled();
    expect([one.told, two.told]).toEqual([[], []]);
    expect(grants.names).toEqual(['small']);
  });

  it('gives back to whoever has least, whosever turn it is', async () => {
    const bench = benchOf();
    const [crowd, some] = [crowdOf(bench, 3, 6), {}];
    bench.taker(some).takeAnyway(6, nothing);
    const [grants, light] = [new Grants(), bench.slow()];
    void grants.ask('some', bench.slow(some), 6);
    void grants.ask('light', light, 6);
    bench.time.advance(STALLED_MS - 2 * SLOW_MS);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[0], ['light']]);
  });

  it('is not disturbed when that would not be enough', async () => {
    const bench = benchOf();
    const crowd = crowdOf(bench, 2, 5);
    crowdOf(bench, 1, 14);
    const grants = new Grants();
    void grants.ask('light', bench.slow(), 6);
    bench.time.advance(PATIENCE_MS - SLOW_MS - 1);
    await settled();
    expect([crowd.told, grants.names]).toEqual([[], []]);
  });

  it('gives back several, of the heaviest first, until it is enough', async () => {
    const bench = benchOf(64);
    const [heavy, heavier] = [crowdOf(bench, 7, 3), crowdOf(bench, 9, 3)];
    const grants = new Grants();
    void grants.ask('light', bench.slow(), 6);
    bench.time.advance(STALLED_MS);
    await settled();
    expect([heavy.told, heavier.told, grants.names]).toEqual([[], [0, 1], ['light']]);
  });

  it('is slow, and its new streams get nothing of the reserve, before anything of it was let go of', async () => {
    const bench = benchOf();
    const crowd = crowdOf(bench, 4, 6);
    const reserved = bench.taker().tryTake(8, nothing);
    const grants = new Grants();
    for (let n = 0; n < 3; n++) void grants.ask(`crowd ${n}`, bench.taker(crowd.connection), 4);
    void grants.ask('new', bench.taker(), 4);
    bench.time.advance(QUICK_MS + 1);
    reserved?.release();
    await settled();
    expect(grants.names).toEqual(['new']);
  });
});
