/** Clusters of five nodes, and of three on which traps close one after the other, as part of the suite. */
import { describe, expect, it } from 'vitest';
import { runSeed } from './scenario.ts';

const SEEDS = Array.from({ length: 10 }, (_, place) => place + 31);
/** Of these 1 and 3 found reads that were answered from instances whose deletion another node had acknowledged. */
const AIMED_SEEDS = Array.from({ length: 30 }, (_, place) => place + 1);
const SEED_MS_MAX = 60_000;

describe('simulation of five nodes', () => {
  it.each(SEEDS)(
    'holds every check with seed %i',
    async (seed) => {
      const { problems } = await runSeed(seed, { nodes: 5 });
      expect(problems).toEqual([]);
    },
    SEED_MS_MAX,
  );
});

describe('simulation with traps alone', () => {
  it.each(AIMED_SEEDS)(
    'holds every check with seed %i',
    async (seed) => {
      const { problems } = await runSeed(seed, { nodes: 3, aimed: true });
      expect(problems).toEqual([]);
    },
    SEED_MS_MAX,
  );

  it(
    'is the same in two runs of a seed',
    async () => {
      const options = { nodes: 3, aimed: true };
      const [one, two] = [await runSeed(2, options), await runSeed(2, options)];
      expect(two.traceHash).toBe(one.traceHash);
    },
    SEED_MS_MAX,
  );
});
