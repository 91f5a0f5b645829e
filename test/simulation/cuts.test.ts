/**
 * The simulation with stores that lose what they wrote last, synced or not, and logs that lose a segment: a bounded
 * number of seeds, and the proof that what a node may do then happens in them: go on from its own log, or refuse to
 * start.
 */
import { describe, expect, it } from 'vitest';
import { runChecked } from './run-checked.ts';
import { runSeed } from './scenario.ts';

const SEEDS = Array.from({ length: 8 }, (_, place) => place + 1);
const SEED_MS_MAX = 60_000;
const CUT = /the log of the store is cut: [1-9]/;
const REFUSED = /failed \(the store was cut\): .*store and log do not belong together/;
const GONE = /a segment is gone: data/;
const MISSED =
  /failed \(the disk has spoiled a file\): .*\.wal is missing or cut short: found segment \d+ in its place/;
const RESTORED = /the disk is restored from a backup/;
/**
 * A seed that found a node that ended the logs of databases which the catalog of its store did not have any more, held
 * them again, and voted for them without what it had acknowledged. Its settings are those with which it was found.
 */
const FORGOTTEN = 31;
const UNKNOWN = /failed \(the store was cut\): .*The store has no copy of group 5[678], whose log goes on/;

describe('simulation with logs of stores that are cut', () => {
  const lines: string[] = [];
  const count = (what: RegExp): number => lines.filter((line) => what.test(line)).length;

  it.each(SEEDS.flatMap((seed) => [1, 3].map((nodes) => [seed, nodes] as const)))(
    'holds every check with seed %i and nodes: %i',
    async (seed, nodes) => {
      const { problems } = await runChecked(seed, { nodes, cuts: true, listener: (line) => lines.push(line) });
      expect(problems).toEqual([]);
    },
    SEED_MS_MAX,
  );

  it('has nodes that go on, and nodes that refuse to', () => {
    const [cuts = 0, restored = 0, gone = 0] = [CUT, RESTORED, GONE].map(count);
    expect(lines.some((line) => REFUSED.test(line))).toBe(true);
    // Every segment that is gone is brought back, too.
    expect(restored).toBeGreaterThan(gone);
    expect(cuts).toBeGreaterThan(restored - gone + SEEDS.length);
  });

  it('has logs without a segment in the middle, whose nodes say which one is missing', () => {
    const [gone = 0, missed = 0] = [GONE, MISSED].map(count);
    expect(gone).toBeGreaterThan(SEEDS.length / 2);
    expect(missed).toBeGreaterThan(gone);
  });

  it(
    'has no node end the log of a database that its store has lost',
    async () => {
      const notes: string[] = [];
      const options = { nodes: 3, lanes: true, definitions: true, times: true, cuts: true };
      const { problems } = await runChecked(FORGOTTEN, { ...options, listener: (line) => notes.push(line) });
      expect(problems).toEqual([]);
      expect(notes.some((note) => UNKNOWN.test(note))).toBe(true);
    },
    SEED_MS_MAX,
  );

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
