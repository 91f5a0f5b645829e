/**
 * What kind of world a seed is: how many clients and what they like to do, how the node is set, which kinds of faults
 * there are and how often. Ranges are drawn before anything in them is, so that some seeds are all crashes and others
 * none at all.
 */
import type { Rng } from '../engine/random.ts';
import type { NodeSettings } from '../node/sim-node.ts';
import type { ClientHabits, Deed } from '../workload/client.ts';
import { FAULT_KINDS, type FaultRanges } from './plan.ts';

export interface Swarm extends FaultRanges {
  readonly clientCount: number;
  readonly followerCount: number;
  readonly habits: ClientHabits;
  readonly node: NodeSettings;
  /** Operations of clients, at most. */
  readonly operations: number;
}

const SECOND_US = 1_000_000;
const KIBIBYTE = 1024;
const USUAL: Readonly<Record<Deed, number>> = {
  transact: 50,
  repeat: 8,
  describe: 8,
  query: 10,
  again: 5,
  fetch: 4,
  log: 2,
  await: 2,
  event: 3,
  names: 2,
  list: 1,
  create: 1,
  delete: 0.5,
};

export function drawSwarm(random: Rng): Swarm {
  const names = ['alpha', 'beta', 'gamma'].slice(0, random.between(1, 3));
  const [first = 'alpha', ...others] = names;
  return {
    clientCount: random.between(1, 8),
    followerCount: random.between(0, 3),
    habits: {
      names: [first, ...others],
      thinkUsMean: random.pick([4, 20, 80, 300]) * 1000,
      weights: drawWeights(random),
    },
    node: drawNode(random),
    safetyUs: random.between(4, 20) * SECOND_US,
    operations: random.between(100, 1200),
    faultUsMean: random.chance(0.1) ? Number.POSITIVE_INFINITY : random.pick([200, 700, 2000]) * 1000,
    faultKinds: FAULT_KINDS.filter((kind) => random.chance(kind === 'rot' ? 0.2 : 0.5)),
  };
}

function drawWeights(random: Rng): Readonly<Record<Deed, number>> {
  const weights = { ...USUAL };
  for (const deed of Object.keys(USUAL) as readonly Deed[]) weights[deed] *= random.pick([0.3, 1, 1, 3]);
  // Deletes take histories away: they are worth their price in some of the seeds.
  if (random.chance(0.5)) weights.delete = 0;
  return weights;
}

function drawNode(random: Rng): NodeSettings {
  // Half of a segment holds the largest transaction that clients make up.
  const walSegmentBytes = random.pick([32, 64, 128]) * KIBIBYTE;
  return {
    walSegmentBytes,
    limits: {
      checkpointIntervalMs: random.pick([50, 250, 1000]),
      checkpointBytes: random.pick([20, 16_384]) * KIBIBYTE,
      applyEntriesMax: random.pick([1, 4, 1024]),
      applySliceEntries: random.pick([1, 8, 256]),
      trashDelayMs: random.pick([200, 2000]),
      trashSliceRows: random.pick([5, 1000]),
      backlogEntriesMax: random.pick([8, 5000]),
      pendingReadsMax: random.pick([3, 10_000]),
    },
    serviceLimits: {
      readWaitMs: random.pick([20, 250]),
      tailEventsMax: random.pick([2, 1000]),
      tailBytesMax: random.pick([2, 4096]) * KIBIBYTE,
      tailGapMax: random.pick([3, 10_000]),
    },
    // The hard level leaves room for two segments, and the soft one for as much again.
    disk: { hardBytes: 2 * walSegmentBytes, softBytes: 4 * walSegmentBytes, ballastBytes: 0 },
    threadUsMax: random.pick([50, 500, 5000]),
    clockPpm: random.between(-500, 500),
    restartUsMax: random.pick([20, 500]) * 1000,
  };
}
