/**
 * The simulation with stores that lose what they wrote last, synced or not: a bounded number of seeds, and the proof
 * that both happen in them that a node may do then: go on from its own log, or refuse to start.
 */
import { describe, expect, it } from 'vitest';
import { runChecked } from './run-checked.ts';
import { runSeed } from './scenario.ts';

const SEEDS = Array.from({ length: 8 }, (_, place) => place + 1);
const SEED_MS_MAX = 60_000;
const CUT = /the log of the store is cut: [1-9]/;
const REFUSED = /failed \(the disk has spoiled data\): .*store and log do not belong together/;
const RESTORED = /the disk is restored from a backup/;

describe('simulation with logs of stores that are cut', () => {
  const lines: string[] = [];

  it.each(SEEDS.flatMap((seed) => [1, 3].map((nodes) => [seed, nodes] as const)))(
    'holds every check with seed %i and nodes: %i',
    async (seed, nodes) => {
      const { problems } = await runChecked(seed, { nodes, cuts: true, listener: (line) => lines.push(line) });
      expect(problems).toEqual([]);
    },
    SEED_MS_MAX,
  );

  it('has nodes that go on, and nodes that refuse to', () => {
    const [cuts = 0, restored = 0] = [CUT, RESTORED].map((what) => lines.filter((line) => what.test(line)).length);
    expect(lines.some((line) => REFUSED.test(line))).toBe(true);
    expect(restored).toBeGreaterThan(0);
    expect(cuts).toBeGreaterThan(restored + SEEDS.length);
  });

  it(
    'is the same in two runs of a seed',
    async () => {
      const options = { nodes: 3, cuts: true };
      const [one, two] = [await runSeed(4, options), await runSeed(4, options)];
      expect(two.traceHash).toBe(one.traceHash);
    },
    SEED_MS_MAX,
  );
});
