// What kind of world a seed is: how many clients and what they like to do, how the node is set, which faults there are
// and how often. Ranges are drawn before anything in them is, so that some seeds are all crashes and others none.
import type { Rng } from '../engine/random.ts';
import type { NodeSettings } from '../node/sim-node.ts';
import type { ClientHabits, Deed } from '../workload/client.ts';
import {
  AIMED_FAULT_KINDS,
  CLUSTER_FAULT_KINDS,
  FAULT_KINDS,
  type FaultKind,
  type FaultRanges,
  LANE_FAULT_KINDS,
  RETURNED_FAULT_KINDS,
  SHOWN_FAULT_KINDS,
  UNSYNCED_FAULT_KINDS,
  WHOLE_FAULT_KINDS,
} from './plan.ts';
import type { TrapMood } from './traps.ts';

export interface Swarm extends FaultRanges {
  readonly clientCount: number;
  readonly followerCount: number;
  readonly habits: ClientHabits;
  readonly node: NodeSettings;
  /** What traps close on, mostly; when on names, they come and go all the time. */
  readonly traps: TrapMood;
  /** What is special about a cluster of several nodes. */
  readonly cluster: ClusterSwarm | undefined;
  /** Operations of clients, at most. */
  readonly operations: number;
}

const SECOND_US = 1_000_000;
/** So many that some ask whoever is cut off. */
const LATE_CLIENTS = 5;
const KIBIBYTE = 1024;
/** Memory for replication that a few clients fill. */
const CRAMPED_BYTES = 16 * KIBIBYTE;
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

const RESTLESS: Readonly<Record<Deed, number>> = {
  ...USUAL,
  transact: 20,
  repeat: 2,
  describe: 30,
  list: 3,
  create: 10,
  delete: 12,
};

export function drawSwarm(random: Rng): Swarm {
  const names = ['alpha', 'beta', 'gamma'].slice(0, random.between(1, 3));
  const [one = 'alpha', ...more] = names;
  return {
    clientCount: random.between(1, 8),
    followerCount: random.between(0, 3),
    habits: { names: [one, ...more], thinkUsMean: random.pick([4, 20, 80, 300]) * 1000, weights: drawWeights(random) },
    node: drawNode(random),
    safetyUs: random.between(4, 20) * SECOND_US,
    operations: random.between(100, 1200),
    faultUsMean: random.chance(0.1) ? Number.POSITIVE_INFINITY : random.pick([200, 700, 2000]) * 1000,
    faultKinds: FAULT_KINDS.filter((kind) => random.chance(kind === 'rot' ? 0.2 : 0.5)),
    durationMsMax: 1500,
    nodeCount: 1,
    traps: 'any',
    cluster: undefined,
  };
}

/** The same seed with several nodes: an election takes seconds, so everything has more time. */
export function asCluster(swarm: Swarm, nodeCount: number, random: Rng): Swarm {
  const { habits, node, faultKinds } = swarm;
  const rare: ReadonlySet<FaultKind> = new Set(['move', 'rot', 'full']);
  const kinds = CLUSTER_FAULT_KINDS.filter((kind) => random.chance(rare.has(kind) ? 0.3 : 0.6));
  const made: Swarm = {
    ...swarm,
    nodeCount,
    safetyUs: random.between(15, 60) * SECOND_US,
    faultUsMean: random.chance(0.1) ? Number.POSITIVE_INFINITY : random.pick([700, 2500, 8000]) * 1000,
    durationMsMax: random.pick([1500, 8000]),
    faultKinds: [...faultKinds, ...kinds],
    habits: { ...habits, thinkUsMean: random.pick([50, 150, 500]) * 1000 },
    node: { ...node, limits: { ...node.limits, ...drawGroupLimits(random) } },
    cluster: {
      copies: random.pick([1, 3, 3, 3, 5]),
      zones: random.between(1, 3),
      startsFormed: random.chance(0.75),
      lateUs: random.chance(0.25) ? random.between(1, 20) * SECOND_US : 0,
      clocks: Array.from({ length: nodeCount }, () => ({
        ppm: random.between(-500, 500),
        aheadMs: random.pick([0, 0, -3000, 40, 3000]),
      })),
      replaceAfterMs: random.pick([undefined, 6000]),
      trapUsMean: random.pick([Number.POSITIVE_INFINITY, 3 * SECOND_US, 10 * SECOND_US]),
      hasLanes: false,
    },
  };
  // One entry a message shows what becomes of part of a log.
  const appendBytesMax = random.pick([1, 256 * KIBIBYTE]);
  // Nothing is made of it any more: without it, all that is drawn behind it would be another.
  random.chance(0.2);
  const limits = { ...made.node.limits, appendBytesMax, ...drawLease(random) };
  return { ...made, node: { ...made.node, limits } };
}

/** The same cluster with the real lanes, slow disks, and in some seeds too little memory for replication. */
export function asLaned(swarm: Swarm, random: Rng): Swarm {
  const { cluster, node, faultKinds, habits } = swarm;
  if (cluster === undefined) return swarm;
  const kinds: readonly FaultKind[] = [...faultKinds, 'slow', 'peer-network', 'partition'];
  const memoryBytesMax = random.pick([4, 16, 64, 262_144]) * KIBIBYTE;
  // So many that there is more to do than slow disks take.
  const crowd = { clientCount: 8, habits: { ...habits, thinkUsMean: 10_000 } };
  return {
    ...swarm,
    ...(memoryBytesMax <= CRAMPED_BYTES ? crowd : {}),
    faultKinds: faultKinds.length === 0 ? faultKinds : kinds,
    node: { ...node, limits: { ...node.limits, memoryBytesMax } },
    cluster: { ...cluster, hasLanes: true },
  };
}

/** The same cluster with faults of lanes alone: what ends a connection would hide that it is silent. */
export function asHarmed(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits } = swarm;
  if (cluster === undefined) return swarm;
  return {
    ...swarm,
    faultKinds: LANE_FAULT_KINDS,
    faultUsMean: 3 * SECOND_US,
    durationMsMax: 4000,
    safetyUs: random.between(10, 25) * SECOND_US,
    habits: { ...habits, thinkUsMean: 50_000 },
    cluster: { ...cluster, startsFormed: true, lateUs: 0, trapUsMean: Number.POSITIVE_INFINITY },
  };
}

/** The same world with checkpoints that are far apart, and so much to write that a log has several segments by then. */
export function asSegmented(swarm: Swarm, random: Rng): Swarm {
  const { node, habits, cluster } = swarm;
  const walSegmentBytes = 32 * KIBIBYTE;
  const checkpointIntervalMs = random.pick([5000, 20_000]);
  const limits = { ...node.limits, checkpointIntervalMs, checkpointBytes: 16_384 * KIBIBYTE };
  return {
    ...swarm,
    clientCount: 8,
    operations: 1200,
    habits: { ...habits, thinkUsMean: cluster === undefined ? 20_000 : 50_000 },
    node: { ...node, walSegmentBytes, limits, disk: thresholdsOf(walSegmentBytes) },
  };
}

/** The same cluster with many databases, and as many clients as there may be. */
export function asPeopled(swarm: Swarm, random: Rng): Swarm {
  const { habits } = swarm;
  const [first, ...others] = habits.names;
  const more = Array.from({ length: random.between(4, 12) }, (_, place) => `many-${place + 1}`);
  return { ...swarm, clientCount: 8, habits: { ...habits, names: [first, ...others, ...more] } };
}

/** The same cluster with traps and no other faults; one node: the faults that only a restart reads. */
export function asAimed(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits } = swarm;
  if (cluster === undefined) {
    const thinkUsMean = random.pick([20_000, 80_000]);
    const kind = random.pick(AIMED_FAULT_KINDS);
    return {
      ...swarm,
      faultKinds: random.split('syncs').chance(0.25) ? UNSYNCED_FAULT_KINDS : [kind],
      faultUsMean: SECOND_US / 2,
      habits: { ...habits, thinkUsMean },
    };
  }
  return {
    ...swarm,
    faultKinds: [],
    habits: { ...habits, thinkUsMean: 50_000 },
    cluster: { ...cluster, copies: 3, startsFormed: true, lateUs: 0, trapUsMean: 3 * SECOND_US },
  };
}

/** The same world with clients that create and delete more than they write, and then ask who is there. */
export function asRestless(swarm: Swarm): Swarm {
  return { ...swarm, traps: 'names', habits: { ...swarm.habits, weights: RESTLESS } };
}

/** The same cluster with time between two traps for what comes late, and clients that ask for the latest. */
export function asLate(swarm: Swarm): Swarm {
  const { cluster, habits, node, clientCount } = swarm;
  if (cluster === undefined) return swarm;
  const { leaseMs: _, leaseRenewMs: _renew, fenceMs: _fence, fenceAskMs: _ask, ...limits } = node.limits;
  return {
    ...swarm,
    traps: 'late',
    clientCount: Math.max(clientCount, LATE_CLIENTS),
    safetyUs: 60 * SECOND_US,
    operations: 1500,
    habits: { ...habits, thinkUsMean: 150_000, weights: { ...USUAL, describe: 60 } },
    // Whoever is cut off goes on answering for longer than an election.
    node: { ...node, limits },
    cluster: { ...cluster, trapUsMean: 5 * SECOND_US },
  };
}

/** The same cluster, in which replicas come to nodes that relayed reads, lag, and are mostly read at `cached`. */
export function asShown(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits, node } = swarm;
  if (cluster === undefined) return swarm;
  const thinkUsMean = random.pick([100_000, 600_000]);
  const copies = random.pick([1, 3]);
  const limits = {
    ...node.limits,
    checkpointIntervalMs: 5000,
    checkpointBytes: 16_384 * KIBIBYTE,
    applyEntriesMax: 1,
    writeEntries: 1,
  };
  return {
    ...swarm,
    faultKinds: SHOWN_FAULT_KINDS,
    faultUsMean: 2 * SECOND_US,
    durationMsMax: 8000,
    operations: 1200,
    habits: {
      ...habits,
      thinkUsMean,
      weights: { ...USUAL, describe: 40, delete: random.pick([0, 0, 1]) },
      prefersCached: true,
    },
    node: { ...node, limits, restartUsMax: 20_000 },
    cluster: { ...cluster, copies, trapUsMean: Number.POSITIVE_INFINITY },
  };
}

/** The same cluster with databases that leave nodes, and come back before what they have left there is cleared. */
export function asReturned(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits, node } = swarm;
  if (cluster === undefined) return swarm;
  return {
    ...swarm,
    faultKinds: RETURNED_FAULT_KINDS,
    faultUsMean: 3 * SECOND_US,
    safetyUs: 60 * SECOND_US,
    operations: 1200,
    habits: { ...habits, thinkUsMean: random.pick([50_000, 200_000]), weights: { ...USUAL, delete: 0 } },
    node: { ...node, limits: { ...node.limits, trashDelayMs: 2000 } },
    cluster: { ...cluster, copies: random.pick([1, 3]), trapUsMean: Number.POSITIVE_INFINITY },
  };
}

/** The same cluster with faults that leave disks whole, and then an end of all nodes but one. */
export function asRefounded(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits } = swarm;
  if (cluster === undefined) return swarm;
  const thinkUsMean = random.pick([100_000, 300_000]);
  const weights = { ...USUAL, describe: 20, delete: random.pick([0, 0.3]) };
  return {
    ...swarm,
    faultKinds: WHOLE_FAULT_KINDS.filter(() => random.chance(0.4)),
    faultUsMean: 2 * SECOND_US,
    safetyUs: random.between(40, 60) * SECOND_US,
    operations: 5000,
    habits: { ...habits, thinkUsMean, weights },
    cluster: { ...cluster, copies: random.pick([1, 3, 3]), trapUsMean: Number.POSITIVE_INFINITY },
  };
}

/** The same cluster with clients that mostly write, and nodes that pass that on and lose the answer. */
export function asIntercepted(swarm: Swarm, random: Rng): Swarm {
  const { cluster, habits } = swarm;
  if (cluster === undefined) return swarm;
  return {
    ...swarm,
    safetyUs: 60 * SECOND_US,
    operations: 1500,
    habits: { ...habits, thinkUsMean: random.pick([50_000, 200_000]), weights: { ...USUAL, transact: 100, delete: 0 } },
    cluster: { ...cluster, copies: 3, trapUsMean: random.pick([10 * SECOND_US, Number.POSITIVE_INFINITY]) },
  };
}

export interface ClusterSwarm {
  /** Of a new database. */
  readonly copies: number;
  readonly zones: number;
  /** Whether clients and faults wait until all nodes are in. */
  readonly startsFormed: boolean;
  /** How much later than the others the last node comes. */
  readonly lateUs: number;
  /** What was on a node that is silent for so long is put elsewhere; undefined: never. */
  readonly replaceAfterMs: number | undefined;
  /** Mean time between two traps. */
  readonly trapUsMean: number;
  /** Whether nodes reach each other by the real lanes. */
  readonly hasLanes: boolean;
  readonly clocks: readonly { readonly ppm: number; readonly aheadMs: number }[];
}

/** Small enough for members to fall behind what logs keep, and for snapshots of many parts. */
function drawGroupLimits(random: Rng): NodeSettings['limits'] {
  return {
    tailBytesMax: random.pick([2, 64, 65_536]) * KIBIBYTE,
    retainedBytesMax: random.pick([4, 1024]) * KIBIBYTE,
    snapshotPartBytes: random.pick([1, 56]) * KIBIBYTE,
    snapshotWindowBytes: random.pick([4, 1024]) * KIBIBYTE,
    writeEntries: random.pick([1, 8, 64]),
    electionWindowMs: random.pick([1500, 2500]),
  };
}

/** Shorter than many partitions, so that leases of nodes that are cut off end. */
function drawLease(random: Rng): NodeSettings['limits'] {
  return random.chance(0.6) ? { leaseMs: 1200, leaseRenewMs: 150, fenceMs: 1500, fenceAskMs: 250 } : {};
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
    disk: thresholdsOf(walSegmentBytes),
    threadUsMax: random.pick([50, 500, 5000]),
    clockPpm: random.between(-500, 500),
    checksSteps: true,
    restartUsMax: random.pick([20, 500]) * 1000,
  };
}

/** The hard level leaves room for two segments, and the soft one for as much again. */
function thresholdsOf(walSegmentBytes: number): NodeSettings['disk'] {
  return { hardBytes: 2 * walSegmentBytes, softBytes: 4 * walSegmentBytes };
}
