// Draws the configuration of a seed: the number and habits of clients, the settings of the nodes, and the kinds and
// rates of faults. Ranges are drawn before the values in them (swarm testing), so some seeds have only crashes and
// others none.
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
  /** Main target of traps; with names, databases are created and deleted all the time. */
  readonly traps: TrapMood;
  /** Configuration of a cluster with several nodes. */
  readonly cluster: ClusterSwarm | undefined;
  /** Maximum number of client operations. */
  readonly operations: number;
}

const SECOND_US = 1_000_000;
/** Enough clients that some use isolated nodes. */
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

/** The same seed with several nodes: elections take seconds, so all times are longer. */
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
      learners: 0,
    },
  };
  // One entry per message reveals faults in a part of a log.
  const appendBytesMax = random.pick([1, 256 * KIBIBYTE]);
  // Unused, but without this draw all later ones would change.
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
  // Enough clients to exceed what slow disks can handle.
  const crowd = { clientCount: 8, habits: { ...habits, thinkUsMean: 10_000 } };
  return {
    ...swarm,
    ...(memoryBytesMax <= CRAMPED_BYTES ? crowd : {}),
    faultKinds: faultKinds.length === 0 ? faultKinds : kinds,
    node: { ...node, limits: { ...node.limits, memoryBytesMax } },
    cluster: { ...cluster, hasLanes: true },
  };
}

/** The same cluster with faults of lanes only: the end of a connection would hide that it is silent. */
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

/** The same configuration with rare checkpoints and enough writes that a log has several segments. */
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

/** The same cluster with many databases and the maximum number of clients. */
export function asPeopled(swarm: Swarm, random: Rng): Swarm {
  const { habits } = swarm;
  const [first, ...others] = habits.names;
  const more = Array.from({ length: random.between(4, 12) }, (_, place) => `many-${place + 1}`);
  return { ...swarm, clientCount: 8, habits: { ...habits, names: [first, ...others, ...more] } };
}

/** The same cluster, whose last nodes are learners. */
export function asPooled(swarm: Swarm, learners: number): Swarm {
  return swarm.cluster === undefined ? swarm : { ...swarm, cluster: { ...swarm.cluster, learners } };
}

/** The same cluster with traps and no other faults; with one node, faults that only a restart can detect. */
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

/** The same configuration with clients that create and delete more than they write, and then list and read. */
export function asRestless(swarm: Swarm): Swarm {
  return { ...swarm, traps: 'names', habits: { ...swarm.habits, weights: RESTLESS } };
}

/** The same cluster with more time between traps for late messages, and clients that read the latest revision. */
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
    // An isolated leader continues to answer for longer than an election.
    node: { ...node, limits },
    cluster: { ...cluster, trapUsMean: 5 * SECOND_US },
  };
}

/** The same cluster, in which nodes that relayed reads get replicas that lag, and clients mostly read at `cached`. */
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

/** The same cluster with databases that leave nodes and return before their old data is deleted. */
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

/** The same cluster with faults that keep disks undamaged, and finally the loss of all nodes except one. */
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

/** The same cluster with clients that mostly write, and nodes that relay the writes and lose the answers. */
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
  /** Number of replicas of a new database. */
  readonly copies: number;
  readonly zones: number;
  /** True when clients and faults wait until all nodes have joined. */
  readonly startsFormed: boolean;
  /** Delay of the last node. */
  readonly lateUs: number;
  /** Silence after which the replicas of a node are replaced; undefined: never. */
  readonly replaceAfterMs: number | undefined;
  /** Mean time between two traps. */
  readonly trapUsMean: number;
  /** True when nodes use the real lanes. */
  readonly hasLanes: boolean;
  /** Number of the last nodes that never vote. */
  readonly learners: number;
  readonly clocks: readonly { readonly ppm: number; readonly aheadMs: number }[];
}

/** Small enough that members lag beyond the retained logs, and that snapshots have many parts. */
function drawGroupLimits(random: Rng): NodeSettings['limits'] {
  const limits = {
    tailBytesMax: random.pick([2, 64, 65_536]) * KIBIBYTE,
    retainedBytesMax: random.pick([4, 1024]) * KIBIBYTE,
    snapshotPartBytes: random.pick([1, 56]) * KIBIBYTE,
    snapshotWindowBytes: random.pick([4, 1024]) * KIBIBYTE,
    writeEntries: random.pick([1, 8, 64]),
    electionWindowMs: random.pick([1500, 2500]),
  };
  return { ...limits, snapshotHeldBytesMax: 4 * limits.snapshotWindowBytes };
}

/** Shorter than many partitions, so that leases of isolated nodes expire. */
function drawLease(random: Rng): NodeSettings['limits'] {
  return random.chance(0.6) ? { leaseMs: 1200, leaseRenewMs: 150, fenceMs: 1500, fenceAskMs: 250 } : {};
}

function drawWeights(random: Rng): Readonly<Record<Deed, number>> {
  const weights = { ...USUAL };
  for (const deed of Object.keys(USUAL) as readonly Deed[]) weights[deed] *= random.pick([0.3, 1, 1, 3]);
  // Deletes remove evidence, so only some of the seeds have them.
  if (random.chance(0.5)) weights.delete = 0;
  return weights;
}

function drawNode(random: Rng): NodeSettings {
  // Half a segment is enough for the largest transaction of clients.
  const walSegmentBytes = random.pick([32, 64, 128]) * KIBIBYTE;
  return {
    walSegmentBytes,
    limits: {
      checkpointIntervalMs: random.pick([50, 250, 1000]),
      checkpointBytes: random.pick([20, 16_384]) * KIBIBYTE,
      carryEveryBytes: 64 * KIBIBYTE,
      // A batch is at most half of the smallest segment.
      carriedBytesMax: 8 * KIBIBYTE,
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

/** The hard threshold leaves room for two segments, and the soft one for two more. */
function thresholdsOf(walSegmentBytes: number): NodeSettings['disk'] {
  return { hardBytes: 2 * walSegmentBytes, softBytes: 4 * walSegmentBytes };
}
