// Goal: a budget grants no more than it has, shares it by connection, and evicts clients without progress (TM1, TM2,
// TM4). Method: connections with given holds and a manual clock.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Account, type Hold, MemoryBudget, QUICK_MS } from '../../../src/transport/memory-budget.ts';
import { ManualTime } from '../../support/budget-time.ts';

const NEVER: AbortSignal = new AbortController().signal;
const STALL_MS = 10_000;
const STOPPED_MS = STALL_MS / 4;
const LARGE = 100_000;

const nothing = (): void => undefined;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let time: ManualTime;
let budget: MemoryBudget;
let evicted: string[];
let granted: string[];
let holds: Map<string, Hold>;

function start(bytesMax: number, provenPart = 0): void {
  time = new ManualTime();
  budget = new MemoryBudget({ bytesMax, stallMs: STALL_MS, provenPart, time });
  evicted = [];
  granted = [];
  holds = new Map();
}

beforeEach(() => start(32));

const account = (): Account => budget.of({});

/** A hold that waits for its client. */
function held(name: string, bytes: number, of: Account = account()): Hold {
  const hold = of.takeAnyway(bytes, () => void evicted.push(name));
  hold.watch();
  return hold;
}

function taken(of: Account, ms: number): Account {
  const hold = of.takeAnyway(0, nothing);
  hold.watchEnd();
  time.advance(ms);
  hold.taken();
  hold.release();
  return of;
}

async function ask(name: string, of: Account, bytes: number, signal: AbortSignal = NEVER): Promise<void> {
  const hold = await of.take(bytes, nothing, signal);
  granted.push(name);
  holds.set(name, hold);
}

async function seen(): Promise<readonly unknown[]> {
  await settled();
  return [evicted, granted];
}

it('grants only what it has, counts unconditional holds, and gets each byte back once', () => {
  const hold = account().tryTake(20, nothing);
  expect([account().tryTake(13, nothing), account().tryTake(12, nothing)?.bytes]).toEqual([undefined, 12]);
  hold?.release();
  hold?.release();
  expect(budget.used).toBe(12);
  const other = account().takeAnyway(15, nothing);
  expect([other.tryGrow(20), other.tryGrow(21)]).toEqual([true, false]);
  other.resize(40);
  expect(budget.used).toBe(52);
  other.release();
  other.resize(100);
  expect([other.tryGrow(1), budget.used]).toEqual([false, 12]);
});

it('gives a connection more while at least as much is free as it then has, and its only hold without a share', () => {
  const take = (of: Account): number => {
    let count = 0;
    while (of.tryTake(4, nothing) !== undefined) count += 1;
    return count;
  };
  const [first, second] = [account(), account()];
  expect([take(first), take(second), take(account()), take(first)]).toEqual([4, 2, 1, 0]);
  start(32);
  const only = account().tryTake(20, nothing);
  expect([only?.tryGrow(32), budget.used]).toEqual([true, 32]);
});

it('lets a hold shrink, or keep its size, when others have taken the rest', () => {
  const own = account();
  const [hold] = [own.tryTake(6, nothing), own.tryTake(6, nothing)];
  account().takeAnyway(18, nothing);
  expect([hold?.tryGrow(7), hold?.tryGrow(6), hold?.tryGrow(1), budget.used]).toEqual([false, true, true, 25]);
});

describe('holds of clients without progress', () => {
  it('are not evicted when that frees nothing, or when a larger one suffices', () => {
    held('empty', 0);
    held('tiny', 1);
    held('large', 31);
    time.advance(STOPPED_MS);
    expect([account().tryTake(20, nothing)?.bytes, evicted]).toEqual([20, ['large']]);
  });

  it('are evicted for another connection, the longest idle first, and no more than needed', () => {
    for (const name of ['a', 'b', 'c', 'd']) held(name, 8);
    time.advance(STOPPED_MS - 1);
    expect([account().hasRoom(10), evicted]).toEqual([false, []]);
    time.advance(1);
    expect([account().tryTake(10, nothing)?.bytes, evicted, budget.used]).toEqual([10, ['a', 'b'], 26]);
  });

  it('are not evicted when that does not suffice, nor for their own connection', () => {
    const own = account();
    held('own', 16, own);
    held('b', 8);
    account().takeAnyway(8, nothing);
    time.advance(STOPPED_MS);
    expect([account().hasRoom(25), own.hasRoom(9), evicted]).toEqual([false, false, []]);
  });

  it('are not evicted for a connection that has more than they have', () => {
    const [heavy, light] = [account(), account()];
    heavy.takeAnyway(20, nothing);
    light.takeAnyway(1, nothing);
    held('a', 11);
    time.advance(STOPPED_MS);
    expect([heavy.hasRoom(1), light.hasRoom(1), evicted]).toEqual([false, true, ['a']]);
  });

  it('are evicted after the full timeout when only the end is observable, and never while the node works', () => {
    held('a', 16).watchEnd();
    const pinned = held('b', 16);
    pinned.pin();
    pinned.moved();
    time.advance(STALL_MS - 1);
    expect([account().hasRoom(1), evicted]).toEqual([false, []]);
    time.advance(1);
    expect([account().hasRoom(17), account().hasRoom(16), evicted]).toEqual([false, true, ['a']]);
  });

  it.each([
    ['16 KiB do', 16 * 1024, 'b'],
    ['one byte does not', 1, 'a'],
  ])('are those that stop: received bytes count as progress, %s', (_what, bytes, first) => {
    start(2 * LARGE + 64 * 1024);
    const a = held('a', LARGE);
    held('b', LARGE);
    time.advance(STOPPED_MS / 2);
    expect(a.tryGrow(LARGE + bytes)).toBe(true);
    time.advance(STOPPED_MS / 2);
    expect([account().hasRoom(LARGE), evicted]).toEqual([true, [first]]);
  });

  it('are not evicted for a connection that was evicted itself, before the timeout', () => {
    const crowd = account();
    held('crowd', 32, crowd);
    time.advance(STOPPED_MS);
    const other = account().tryTake(32, nothing);
    other?.watch();
    time.advance(STALL_MS - 1);
    expect([evicted, crowd.hasRoom(1)]).toEqual([['crowd'], false]);
    time.advance(1);
    expect(crowd.hasRoom(1)).toBe(true);
  });
});

describe('waiting connections', () => {
  it('are served in order: a small hold does not overtake a large one of its connection', async () => {
    const [filled, connection] = [account().takeAnyway(32, nothing), account()];
    void ask('large', connection, 20);
    void ask('small', connection, 1);
    expect([budget.waiting, account().tryTake(1, nothing)]).toEqual([2, undefined]);
    filled.resize(13);
    expect(await seen()).toEqual([[], []]);
    filled.release();
    holds.get('large')?.release();
    expect(await seen()).toEqual([[], ['large']]);
    holds.get('large')?.release();
    expect(await seen()).toEqual([[], ['large', 'small']]);
  });

  it('are served by connection, and one with many streams counts as one', async () => {
    const [filled, crowd] = [account().takeAnyway(32, nothing), account()];
    for (let n = 0; n < 100; n++) void ask(`crowd ${n}`, crowd, 6);
    for (const name of ['alone', 'other']) void ask(name, account(), 6);
    filled.release();
    expect(await seen()).toEqual([[], ['crowd 0', 'alone', 'other', 'crowd 1']]);
  });

  it('are removed when they give up, and the next one is served; a request beyond the budget counts as all of it', async () => {
    const filled = account().takeAnyway(30, nothing);
    const leaving = new AbortController();
    const large = account().take(9, nothing, leaving.signal);
    void ask('small', account(), 2);
    leaving.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect([await seen(), budget.waiting]).toEqual([[[], ['small']], 0]);
    filled.release();
    holds.get('small')?.release();
    expect((await account().take(50, nothing, NEVER)).bytes).toBe(32);
    await expect(account().take(1, nothing, leaving.signal)).rejects.toThrow('gone');
  });

  it('get evicted bytes, and one that was evicted itself comes after all others', async () => {
    const crowd = account();
    held('crowd', 32, crowd);
    void ask('light', account(), 32);
    time.advance(STOPPED_MS - 1);
    expect(await seen()).toEqual([[], []]);
    time.advance(1);
    expect(await seen()).toEqual([['crowd'], ['light']]);
    void ask('crowd', crowd, 32);
    void ask('last', account(), 32);
    holds.get('light')?.release();
    expect(await seen()).toEqual([['crowd'], ['light', 'last']]);
  });

  it('get evicted bytes, those without any before hundreds that have some', async () => {
    start(1_600);
    const crowd = Array.from({ length: 100 }, account);
    for (const each of crowd) held('crowd', 16, each);
    for (const each of crowd) void ask('crowd', each, 16);
    void ask('light', account(), 16);
    time.advance(STOPPED_MS);
    expect(await seen()).toEqual([['crowd'], ['light']]);
  });

  it('lose nothing to borrowers, which take only bytes for which no connection waits, and evict nothing', async () => {
    const filled = held('a', 24);
    const borrower = account();
    expect([borrower.tryBorrow(8, nothing)?.bytes, borrower.tryBorrow(1, nothing)]).toEqual([8, undefined]);
    time.advance(STALL_MS);
    expect([borrower.tryBorrow(1, nothing), evicted]).toEqual([undefined, []]);
    filled.pin();
    void ask('waits', account(), 20);
    filled.resize(20);
    expect(account().tryBorrow(1, nothing)).toBeUndefined();
    filled.release();
    expect(await seen()).toEqual([[], ['waits']]);
  });
});

describe('a connection that reads its replies within a second', () => {
  it('has a reserved part of the budget until it is late', () => {
    start(32, 1 / 4);
    const proven = taken(account(), QUICK_MS);
    expect([account().tryTake(25, nothing), account().tryTake(24, nothing)?.bytes]).toEqual([undefined, 24]);
    expect([account().hasRoom(1), proven.hasRoom(8)]).toEqual([false, true]);
    taken(proven, QUICK_MS + 1);
    expect(proven.hasRoom(1)).toBe(false);
  });

  it('does not starve another waiting connection, for any number of them', async () => {
    start(128, 1 / 4);
    const clients = Array.from({ length: 20 }, () => taken(account(), 0));
    for (const [number, client] of clients.entries()) void ask(`${number}`, client, 16);
    void ask('new', account(), 16);
    // The oldest reply is read, and its client sends another request at once.
    for (let read = 0; read < 1_500 && !holds.has('new'); read++) {
      await settled();
      const [name, hold] = [...holds][0] ?? [];
      if (name === undefined || hold === undefined) continue;
      holds.delete(name);
      hold.watchEnd();
      time.advance(10);
      hold.taken();
      hold.release();
      void ask(name, hold.account, 16);
    }
    expect(granted).toContain('new');
  });

  it('is served first, and loses that when it stops while others wait', async () => {
    const filled = account().takeAnyway(32, nothing);
    const proven = taken(account(), 0);
    void ask('other', account(), 8);
    void ask('proven', proven, 8);
    filled.resize(24);
    expect(await seen()).toEqual([[], ['proven']]);
    holds.get('proven')?.watch();
    time.advance(QUICK_MS + 1);
    expect(proven.isProven).toBe(false);
  });
});
