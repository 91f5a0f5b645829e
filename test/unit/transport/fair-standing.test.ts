// Goal: connections by the hundred, of which each has one hold and takes nothing of it, do not hold up one that has
// nothing and takes what it gets (TM4). Method: takers in one process, at a time that the test moves.
import { expect, it } from 'vitest';
import type { Hold } from '../../../src/transport/byte-budget.ts';
import type { Taker } from '../../../src/transport/fair-budget.ts';
import { type Bench, benchOf, COMMON, Grants, nothing, PATIENCE_MS, sent } from '../../support/fair-bench.ts';

const HOLD = COMMON / 6;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Standing {
  readonly holds: readonly Hold[];
  /** The numbers of those that were told to go. */
  readonly told: number[];
}

/** All of the room is held by connections with one hold each. */
function stand({ taker }: Bench): Standing {
  const told: number[] = [];
  const take = (n: number): Hold => {
    const hold: Hold | undefined = taker().tryTake(HOLD, () => {
      told.push(n);
      hold?.release();
    });
    if (hold === undefined) throw new Error('there is room for it');
    hold.watch();
    return hold;
  };
  return { holds: Array.from({ length: 8 }, (_, n) => take(n)), told };
}

function quick({ taker, time }: Bench): Taker {
  const made = taker();
  sent(made.takeAnyway(1, nothing), time, 0);
  return made;
}

it.each([
  { who: 'was quick', make: quick, part: 1 / 4 },
  { who: 'has shown nothing', make: ({ taker }: Bench) => taker(), part: 1 / 4 },
  { who: 'was slow', make: ({ slow }: Bench) => slow(), part: 1 },
])('one that has nothing and $who gets what has stood still for $part of the patience', ({ make, part }) => {
  const bench = benchOf();
  const taker = make(bench);
  const { told } = stand(bench);
  bench.time.advance(part * PATIENCE_MS - 1);
  expect(taker.tryTake(HOLD, nothing)).toBeUndefined();
  bench.time.advance(1);
  expect(taker.tryTake(HOLD, nothing)?.bytes).toBe(HOLD);
  expect(told).toEqual([0]);
});

it('one that moves is not disturbed for it (TM2)', () => {
  const bench = benchOf();
  const taker = quick(bench);
  const { holds, told } = stand(bench);
  bench.time.advance(PATIENCE_MS / 4 - 1);
  holds[0]?.moved();
  bench.time.advance(1);
  expect(taker.tryTake(HOLD, nothing)?.bytes).toBe(HOLD);
  expect(told).toEqual([1]);
});

it('one that waits gets it before others, who have waited longer and are not known to be quick', async () => {
  const bench = benchOf();
  const taker = quick(bench);
  const { holds, told } = stand(bench);
  bench.time.advance(1);
  for (const hold of holds.slice(1)) hold.moved();
  const grants = new Grants();
  for (let n = 0; n < 100; n++) void grants.ask(`new ${n}`, bench.taker(), HOLD);
  void grants.ask('quick', taker, HOLD);
  bench.time.advance(PATIENCE_MS / 4 - 1);
  await settled();
  expect([told, grants.names]).toEqual([[0], ['quick']]);
});

it('one that has something gets no more for it', () => {
  const bench = benchOf();
  const [taker, connection] = [quick(bench), {}];
  sent(bench.taker(connection).takeAnyway(1, nothing), bench.time, 0);
  const { told } = stand(bench);
  bench.taker(connection).takeAnyway(1, nothing);
  bench.time.advance(PATIENCE_MS / 4);
  expect(bench.taker(connection).tryTake(1, nothing)).toBeUndefined();
  expect(told).toEqual([]);
  expect(taker.tryTake(1, nothing)?.bytes).toBe(1);
});
