// Goal: a component that ends processes is refused for a time that grows with each of them, and no other component is
// (G17). Method: kills at given times.
import { expect, it } from 'vitest';
import { Quarantine } from '../../../../src/wasm/executors/quarantine.ts';

const WINDOW_MS = 600_000;
const KILLS_MAX = 3;
const FIRST_MS = 1_000;

function quarantine(): Quarantine {
  return new Quarantine({ killsMax: KILLS_MAX, windowMs: WINDOW_MS, firstMs: FIRST_MS });
}

it('a quarantine is four times as long with each process that ends within the window, and at most as long as the window', () => {
  const own = quarantine();
  let nowMs = 0;
  const lengths = Array.from({ length: 9 }, () => {
    own.killed('a', nowMs);
    const length = own.endsIn('a', nowMs);
    nowMs += length;
    return length;
  });
  expect(lengths).toEqual([0, 0, 1_000, 4_000, 16_000, 64_000, 256_000, 600_000, 0]);
});

it('a quarantine limits the number of ended processes, for any number of calls (G17)', () => {
  const own = quarantine();
  const kills: number[] = [];
  for (let nowMs = 0; nowMs < 20 * WINDOW_MS; nowMs += 100) {
    if (own.endsIn('a', nowMs) > 0) continue;
    own.killed('a', nowMs);
    kills.push(nowMs);
  }
  const most = Math.max(...kills.map((since) => kills.filter((at) => at >= since && at < since + WINDOW_MS).length));
  const growths = Math.ceil(Math.log(WINDOW_MS / FIRST_MS) / Math.log(4));
  expect(most).toBeLessThanOrEqual(KILLS_MAX + growths);
});

it('a quarantine is short for a component that seldom ends a process, and is forgotten after the window', () => {
  const own = quarantine();
  for (const at of [0, 100_000, 200_000]) own.killed('a', at);
  expect(own.endsIn('a', 200_000)).toBe(FIRST_MS);
  expect(own.endsIn('a', 201_000)).toBe(0);
  own.killed('a', 200_000 + WINDOW_MS);
  expect(own.endsIn('a', 200_000 + WINDOW_MS)).toBe(0);
});
