// The simulation in the gate: every seed that has found a bug or shows rare behaviour, and some seeds of each mode.
// seeds.long.test.ts has more seeds of each mode.
import { describe, expect, it } from 'vitest';
import { firstShowing, runChecked, type ShownRun } from './run-checked.ts';
import { nodesOf, type RunOptions, runSeed } from './scenario.ts';
import { describeSeeds, type Rows, seedsFrom } from './seeds.ts';

const ALL_MODES = { lanes: true, definitions: true, times: true, cuts: true } as const;
const SEED_MS_MAX = 60_000;

/** Seeds that have found bugs, with the settings of that time. */
const FOUND: Rows = [
  [3, { nodes: 1, why: 'a closing log passed a raw error of the disk on' }],
  [30, { nodes: 1, why: 'the check held an order of the catalog for impossible' }],
  [1013, { nodes: 1, why: 'a subscription was answered twice' }],
  [9, { nodes: 3, why: 'a node left when no other was there' }],
  [26, { nodes: 3, why: 'a node without a replica answered reads from nothing' }],
  [35, { nodes: 3, why: 'a node without a replica answered subscriptions from nothing' }],
  [49, { nodes: 3, why: 'a node was removed that was the only voter of the catalog' }],
  [66, { nodes: 3, why: 'a node wrote on when it had drained' }],
  [30_046, { nodes: 3, why: 'a node took the first entries of the catalog for the level of the cluster' }],
  [50_078, { nodes: 3, why: 'the operator insisted on a successor that had been removed' }],
  [50_097, { nodes: 3, why: 'an order that was given up removed a node' }],
  [39, { nodes: 5, why: 'a node whose catalog lagged denied a name' }],
  [46, { nodes: 5, why: 'a node whose catalog lagged denied a name' }],
  [49, { nodes: 5, why: 'a transaction was refused because the name had meant another instance' }],
  [56, { nodes: 5, why: 'a node without a replica answered from nothing' }],
  [78, { nodes: 5, why: 'a transaction was refused because the name had meant another instance' }],
  [107, { nodes: 5, why: 'a leader never ended a move that it learned of late' }],
  [125, { nodes: 5, why: 'a node with an older disk ended at a level of the past' }],
  [149, { nodes: 5 }],
  [184, { nodes: 5, why: 'a replica came back to a node whose log had not seen the end of the one before' }],
  [1, { nodes: 3, aimed: true, why: 'reads came from an instance whose deletion was acknowledged' }],
  [3, { nodes: 3, aimed: true, why: 'reads came from an instance whose deletion was acknowledged' }],
  [4, { nodes: 5, aimed: true, why: 'rows of a replica were cleared with those of the one before' }],
  [91_002, { nodes: 3, lanes: true, why: 'a leader whose disk stood still led on (ADR 0095)' }],
  [92_053, { nodes: 3, lanes: true, why: 'an order was carried out that the operator had turned back' }],
  [34, { nodes: 3, times: true, why: 'a lead that had gone was taken for one that nobody hears' }],
];

/** Seeds with rare behaviour. */
const SHOWN: Rows = [
  [1, { nodes: 3, why: 'C31', shows: [/node-\d stands still, which leads alpha/] }],
  [2, { nodes: 3, why: 'C31', shows: [/node-\d, node-\d stand still, and node-\d leads/] }],
  [
    172,
    {
      nodes: 3,
      why: 'a volume is emptied, and its node comes back as another one',
      shows: [/is emptied/, /operator: decommission \d+ is done/],
    },
  ],
  [
    50,
    {
      nodes: 3,
      why: 'the cluster is upgraded, and the upgrade is ended',
      shows: [/"kind":"upgrade"/, /operator: finalize is done/],
    },
  ],
  [
    37,
    {
      nodes: 5,
      why: 'a node that was removed while it was down ends by itself, twice (C39)',
      shows: [/operator: node-\d stays away/, [/ends: .*Node \d was removed from its cluster/, 2]],
    },
  ],
  [34, { nodes: 5, why: 'C24, C25', shows: [/recovery of \w+ is done at revision \d+/] }],
  [100, { nodes: 5, why: 'C24, C25', shows: [/recovery of \w+ is done at revision \d+/] }],
  [49, { nodes: 5, aimed: true, why: 'C17', shows: [/\w+ has come back to node-\d/] }],
  [
    39,
    {
      nodes: 5,
      aimed: true,
      why: 'one node goes on alone, whose recovery a power failure has cut short (C28)',
      shows: [/the recovery of node-\d is cut short/, /refounder: [1-9]\d* databases go on/],
    },
  ],
  [
    2,
    {
      nodes: 3,
      lanes: true,
      why: 'nodes read no more appends, and refuse clients for want of memory (C35, TP8)',
      shows: [/node-\d reads no more appends/, /ReplicationMemory/],
    },
  ],
  [
    87,
    {
      nodes: 5,
      aimed: true,
      why: 'a write that was relayed and lost has an unknown outcome, although another node refuses it (TM8)',
      shows: [/a write of node-\d that node-\d has \w+ is intercepted/],
    },
  ],
  [
    1,
    {
      nodes: 3,
      restored: true,
      why: 'a group decides the same places of its log twice',
      shows: [/replicas that have left their groups: node/],
    },
  ],
  [6, { nodes: 3, lanes: true, aimed: true, why: 'greetings that must not be believed' }],
  [
    3,
    {
      nodes: 5,
      why: 'a learner serves reads, never votes (I11), and has every database in the end',
      shows: [/"learners":1/],
    },
  ],
  ...[1140, 1208].map((seed) => {
    const why = 'a write is larger than the memory of a node';
    return [seed, { nodes: 3, ...ALL_MODES, why, shows: [/"memoryBytesMax":4096/] }] as const;
  }),
];

/** Some seeds of each mode. */
const OTHERS: Rows = [
  ...seedsFrom(4, 5, { nodes: 1 }),
  ...seedsFrom(1, 2, { nodes: 1, aimed: true }),
  ...seedsFrom(7, 3, { nodes: 3 }),
  ...seedsFrom(5, 3, { nodes: 3, aimed: true }),
  ...seedsFrom(32, 2, { nodes: 5 }),
  ...seedsFrom(7, 2, { nodes: 5, aimed: true }),
  ...seedsFrom(204, 1, { nodes: 7 }),
  ...seedsFrom(301, 1, { nodes: 7, aimed: true }),
  ...seedsFrom(5, 2, { nodes: 3, lanes: true }),
  ...seedsFrom(2, 2, { nodes: 3, lanes: true, aimed: true }),
  ...seedsFrom(2, 3, { nodes: 3, definitions: true }),
  ...seedsFrom(1, 2, { nodes: 3, times: true }),
  ...seedsFrom(2, 10, { nodes: 3, restored: true }),
];

describeSeeds('what it once found', FOUND);
describeSeeds('what is rare', SHOWN);
describeSeeds('some seeds of each mode', OTHERS);

describe('the simulation', () => {
  it.each<readonly [string, number, RunOptions]>([
    ['on one node', 5, { nodes: 1 }],
    ['on three nodes', 4, { nodes: 3, ...ALL_MODES }],
    ['on five nodes, aimed', 7, { nodes: 5, aimed: true }],
  ])(
    'is the same in two runs of a seed %s',
    async (_where, seed, options) => {
      const [one, two] = [await runSeed(seed, options), await runSeed(seed, options)];
      expect([two.traceHash, two.eventCount]).toEqual([one.traceHash, one.eventCount]);
    },
    SEED_MS_MAX,
  );

  it('draws the number of nodes from the seed', () => {
    const counts = new Set(Array.from({ length: 50 }, (_, seed) => nodesOf(seed)));
    expect(counts).toEqual(new Set([1, 3, 5, 7]));
  });

  it(
    'has names come and go whose databases other nodes show (C30)',
    async () => {
      const deletions = ({ tally }: ShownRun): number => tally.get('delete ok') ?? 0;
      const run = await firstShowing(118, { nodes: 5, aimed: true }, (each) => deletions(each) > 1);
      expect(run.problems).toEqual([]);
      expect(deletions(run)).toBeGreaterThan(1);
    },
    SEED_MS_MAX,
  );

  it(
    'draws the same operations when a fault is left out, up to that fault',
    async () => {
      const lines = async (faults?: readonly number[]): Promise<readonly string[]> => {
        const seen: string[] = [];
        await runSeed(4, { nodes: 1, ...(faults && { faults }), listener: (line) => seen.push(line) });
        return seen;
      };
      const [all, without] = [await lines(), await lines([])];
      const fault = all.findIndex((line) => line.includes('fault 0:'));
      expect(fault).toBeGreaterThan(0);
      expect(without.slice(0, fault)).toEqual(all.slice(0, fault));
    },
    SEED_MS_MAX,
  );
});

/** Stores that lose their last writes, synced or not, and logs that lose a segment. */
describe('the simulation with cuts', () => {
  const lines: string[] = [];
  const count = (what: RegExp): number => lines.filter((line) => what.test(line)).length;

  it.each([1, 3, 4, 6].flatMap((seed) => [1, 3].map((nodes) => [seed, nodes] as const)))(
    'holds every check with seed %i on %i nodes',
    async (seed, nodes) => {
      const { problems } = await runChecked(seed, { nodes, cuts: true, listener: (line) => lines.push(line) });
      expect(problems).toEqual([]);
    },
    SEED_MS_MAX,
  );

  it('has nodes that continue, nodes that make databases again, and nodes that name the missing segment', () => {
    const gone = count(/a segment is gone: data/);
    const restored = count(/the disk is restored from a backup/);
    expect(count(/rebuilds group \d+: the applied row for the checkpoint at \d+ is of entry/)).toBeGreaterThan(0);
    // Every lost segment is also restored.
    expect(restored).toBeGreaterThanOrEqual(gone);
    expect(count(/the log of the store is cut: [1-9]/)).toBeGreaterThan(restored - gone);
    expect(gone).toBeGreaterThan(0);
    const missed = /failed \(the disk has spoiled a file\): .*\.wal is missing or cut short: found segment \d+ in its/;
    expect(count(missed)).toBeGreaterThanOrEqual(gone);
    expect(count(/cannot read group \d+ from revision \d+ on: /)).toBeGreaterThan(0);
    expect(count(/has nothing left of the damaged history/)).toBeGreaterThan(0);
  });
});
