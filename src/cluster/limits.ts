/** Limits and intervals of the runtime. The defaults are for one node with two cores; tests use smaller ones. */
import { REPLICATION } from '#raft';

export interface CoreLimits {
  /** Memory of all groups of a node for entries and for requests that are not entries yet (node-memory.ts). */
  readonly memoryBytesMax: number;
  /** Bytes of payloads of one group that may wait for a quorum. */
  readonly uncommittedBytesMax: number;
  /** Bytes of payloads of one group that may wait for its election. */
  readonly waitingBytesMax: number;
  /** Entries and bytes of one group that may be committed but not applied. */
  readonly backlogEntriesMax: number;
  readonly backlogBytesMax: number;
  /** Reads of one group that may wait for a quorum or for an index, including forwarded ones on the leader. */
  readonly pendingReadsMax: number;
  /** Maximum size of one batch of the store. */
  readonly applyEntriesMax: number;
  readonly applyBytesMax: number;
  /** Applied entries that trigger a write when no client waits for rows earlier. */
  readonly writeEntries: number;
  readonly writeBytes: number;
  /** Entries that are applied before other work of the core gets a turn; and of one group before the next. */
  readonly applySliceEntries: number;
  readonly applySliceBytes: number;
  /** Applied state becomes durable after this long, or after this many bytes of payloads. */
  readonly checkpointIntervalMs: number;
  readonly checkpointBytes: number;
  /** Bytes of the log after which the entries of damaged databases are written again, and how many of each. */
  readonly carryEveryBytes: number;
  readonly carriedBytesMax: number;
  /** Time for which the rows of a deleted database are kept for running reads. */
  readonly trashDelayMs: number;
  /** Rows of a deleted database that are deleted at a time. */
  readonly trashSliceRows: number;
  /** Bytes of applied entries kept in memory for members that lack them, for all groups together. */
  readonly tailBytesMax: number;
  /** Bytes of payloads that may wait to be accepted by other nodes. */
  readonly forwardedBytesMax: number;
  /** Bytes of entries of one group led by this node that its members have not acknowledged. */
  readonly retainedBytesMax: number;
  /** Bytes of payloads in one message to a member; one entry always fits. */
  readonly appendBytesMax: number;
  /** Concurrent snapshots sent, and received. */
  readonly snapshotsMax: number;
  /** Approximate size of a part of a snapshot; a larger transaction is a part of its own. */
  readonly snapshotPartBytes: number;
  /** Bytes of a snapshot that are in flight. */
  readonly snapshotWindowBytes: number;
  /** Bytes of a snapshot that are in flight, or received and not installed yet; `memoryBytesMax` may allow fewer. */
  readonly snapshotHeldBytesMax: number;
  /** Time without a part after which it is requested again, and further time until the transfer fails. */
  readonly snapshotAskMs: number;
  readonly snapshotGiveUpMs: number;
  /** Maximum time that a request waits for a group of several replicas to have a leader. */
  readonly leaderWaitMs: number;
  /** Maximum time that a former leader waits to learn the outcome of its entries. */
  readonly outcomeWaitMs: number;
  /**
   * After a group was created on several nodes, one of them campaigns after this time, when the others should have it;
   * these campaign one after the other, four times this interval apart. After a leader has stopped, the others campaign
   * this interval apart.
   */
  readonly firstCampaignMs: number;
  /** Maximum number of groups without a leader that campaign per tick; fewer while ticks are late; others wait. */
  readonly campaignsMax: number;
  /** A draining node stops waiting for transfers when none was completed for so long. */
  readonly transfersIdleMs: number;
  /** Concurrent transfers of a draining node; and the time after which the next target is tried. */
  readonly transfersMax: number;
  readonly transferWaitMs: number;
  /** Interval at which a node announces its drain, and the time after which the announcement expires. */
  readonly leavingAnnounceMs: number;
  readonly leavingMs: number;
  /** Interval at which clocks of peers are measured, and the time until a measurement expires (peer-clocks.ts). */
  readonly clockAskMs: number;
  readonly clockKeptMs: number;
  /** Maximum difference between the clock of a leader and those of its peers; a larger step of the clock is logged. */
  readonly clockSkewMsMax: number;
  /**
   * Maximum time that a draining core waits for answers that depend only on its own disks and leases; longer than a
   * lease.
   */
  readonly owedMs: number;
  /** Interval of checks of groups that have not reached their membership, and how many are checked at a time. */
  readonly membershipLookMs: number;
  readonly membershipLooks: number;
  /**
   * Interval at which the leader of the catalog checks the placement of replicas, and how many databases move at a
   * time.
   */
  readonly placementLookMs: number;
  readonly movesMax: number;
  /**
   * Interval at which a node checks for preferred leaders, and how long they must have been ready. At each check it
   * transfers one database, and more in which nothing happens.
   */
  readonly leaderLookMs: number;
  readonly leaderRestMs: number;
  readonly idleTransfersMax: number;
  readonly electionWindowMs: number;
  readonly electionJitterMs: number;
  /**
   * Time for which the front trusts its catalog, from the request on, and age at which it renews the lease. It outlasts
   * a leader change of the catalog: two elections in a row, and the time until the next request.
   */
  readonly leaseMs: number;
  readonly leaseRenewMs: number;
  /**
   * Time after which every earlier lease of the catalog has expired, even on clocks that run a quarter faster or
   * slower; and the interval of requests to learn it sooner.
   */
  readonly fenceMs: number;
  readonly fenceAskMs: number;
}

const KIBIBYTE = 2 ** 10;
const MEBIBYTE = 2 ** 20;

export const LIMITS: CoreLimits = {
  memoryBytesMax: 256 * MEBIBYTE,
  uncommittedBytesMax: 16 * MEBIBYTE,
  waitingBytesMax: 16 * MEBIBYTE,
  backlogEntriesMax: 5000,
  backlogBytesMax: 64 * MEBIBYTE,
  pendingReadsMax: 10_000,
  applyEntriesMax: 1024,
  applyBytesMax: 4 * MEBIBYTE,
  writeEntries: 256,
  writeBytes: 512 * KIBIBYTE,
  applySliceEntries: 256,
  applySliceBytes: 128 * KIBIBYTE,
  checkpointIntervalMs: 250,
  checkpointBytes: 16 * MEBIBYTE,
  carryEveryBytes: 256 * MEBIBYTE,
  // It fits into a batch of the smallest segments.
  carriedBytesMax: MEBIBYTE,
  trashDelayMs: 10_000,
  trashSliceRows: 1000,
  tailBytesMax: 64 * MEBIBYTE,
  forwardedBytesMax: 16 * MEBIBYTE,
  retainedBytesMax: REPLICATION.retainedBytesMax,
  appendBytesMax: REPLICATION.appendBytesMax,
  snapshotsMax: 2,
  // Beyond 64 KiB, a frame costs more per byte.
  snapshotPartBytes: 56 * KIBIBYTE,
  snapshotWindowBytes: 4 * MEBIBYTE,
  // Each installation ends with syncs: with less to install there would be more of them.
  snapshotHeldBytesMax: 16 * MEBIBYTE,
  snapshotAskMs: 1000,
  snapshotGiveUpMs: 10_000,
  leaderWaitMs: 5000,
  outcomeWaitMs: 5000,
  firstCampaignMs: 100,
  campaignsMax: 128,
  transfersIdleMs: 5000,
  transfersMax: 16,
  transferWaitMs: 500,
  leavingAnnounceMs: 500,
  leavingMs: 2500,
  clockAskMs: 1000,
  clockKeptMs: 10_000,
  clockSkewMsMax: 2000,
  owedMs: 11_000,
  membershipLookMs: 100,
  membershipLooks: 64,
  placementLookMs: 1000,
  movesMax: 4,
  leaderLookMs: 2000,
  leaderRestMs: 30_000,
  idleTransfersMax: 16,
  electionWindowMs: 2500,
  electionJitterMs: 1000,
  leaseMs: 8000,
  leaseRenewMs: 1000,
  fenceMs: 10_000,
  fenceAskMs: 250,
};
