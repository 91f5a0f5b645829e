/**
 * Every bound of the runtime, by name. The defaults are for one node of two cores; tests take smaller ones.
 */
import { REPLICATION } from '#raft';

export interface CoreLimits {
  /** What all groups of a node hold in memory of entries and of requests that are none yet (node-memory.ts). */
  readonly memoryBytesMax: number;
  /** Bytes of payloads of one group that may wait for a quorum. */
  readonly uncommittedBytesMax: number;
  /** Bytes of payloads of one group that may wait for its election. */
  readonly waitingBytesMax: number;
  /** Entries and bytes of one group that may be committed and not yet applied. */
  readonly backlogEntriesMax: number;
  readonly backlogBytesMax: number;
  /** Reads of one group that may wait: for a quorum, or for an index; and of a leader those that it was asked for. */
  readonly pendingReadsMax: number;
  /** What one batch of the store takes at most. */
  readonly applyEntriesMax: number;
  readonly applyBytesMax: number;
  /** What is applied is written when it is so much, if nobody waits for its rows sooner. */
  readonly writeEntries: number;
  readonly writeBytes: number;
  /** What is applied at a stretch, before anything else of the core has its turn; of one group before the next. */
  readonly applySliceEntries: number;
  readonly applySliceBytes: number;
  /** Applied state becomes durable at the latest after this long, or after this many bytes of payloads. */
  readonly checkpointIntervalMs: number;
  readonly checkpointBytes: number;
  /** How long the rows of a deleted database are left alone, for reads that are still under way. */
  readonly trashDelayMs: number;
  /** Rows of a deleted database that are cleared in one go. */
  readonly trashSliceRows: number;
  /** Bytes of applied entries that are kept in memory for members that lack them, of all groups together. */
  readonly tailBytesMax: number;
  /** Bytes of payloads that may wait for another node to take them in. */
  readonly forwardedBytesMax: number;
  /** The same, of one group that this node leads: entries that its members have not acknowledged yet. */
  readonly retainedBytesMax: number;
  /** Bytes of payloads in one message to a member; one entry always fits. */
  readonly appendBytesMax: number;
  /** Snapshots that are sent at a time, and as many that are received. */
  readonly snapshotsMax: number;
  /** A part of a snapshot has about so many bytes; a single larger transaction has a part of its own. */
  readonly snapshotPartBytes: number;
  /** Bytes of a snapshot that are on their way, or here and not installed yet. */
  readonly snapshotWindowBytes: number;
  /** How long whoever has installed something rests, as a share of the time that it took. */
  readonly snapshotRestShare: number;
  /** After so long without a part it is asked for again; after so much longer without an answer it is given up. */
  readonly snapshotAskMs: number;
  readonly snapshotGiveUpMs: number;
  /** How long a request waits for a group of several replicas to have a leader. */
  readonly leaderWaitMs: number;
  /** How long a leader that lost the lead waits to learn what became of its entries. */
  readonly outcomeWaitMs: number;
  /**
   * After a group was created on several nodes, one of them asks for its lead: the others should have it by then, and
   * ask four times as long one after the other. When a leader has ended, the others ask for the lead so long one after
   * the other.
   */
  readonly firstCampaignMs: number;
  /** Of groups without a leader so many ask for it at one look, and fewer while looks are late; the others wait. */
  readonly campaignsMax: number;
  /** A node that drains waits no longer for others to take the lead of its groups when none was taken for so long. */
  readonly handOverMs: number;
  /** It hands over so many at a time; an heir that has not taken its lead after so long makes way for the next one. */
  readonly handOversMax: number;
  readonly heirWaitMs: number;
  /** How often it says that it drains, and for how long that is believed when nothing more is heard of it. */
  readonly leavingTellMs: number;
  readonly leavingMs: number;
  /** How often peers are asked what time it is, and for how long an answer is believed (peer-clocks.ts). */
  readonly clockAskMs: number;
  readonly clockKeptMs: number;
  /** The clock of a node that leads is at most so far from those of its peers; one that is set further is noted. */
  readonly clockSkewMsMax: number;
  /** How long a core that drains waits for answers that only its own disks and leases hold up; longer than a lease. */
  readonly owedMs: number;
  /** How often groups that are not what they should be are looked at, and how many of them at a time. */
  readonly membershipLookMs: number;
  readonly membershipLooks: number;
  /**
   * How often whoever leads the catalog looks whether copies are where they should be, and how many databases move at a
   * time.
   */
  readonly placementLookMs: number;
  readonly movesMax: number;
  /**
   * How often a node looks whether others should lead what it leads, and for how long they must have been ready to. At
   * a look it hands over one database, and so many more in which nothing happens.
   */
  readonly leaderLookMs: number;
  readonly leaderRestMs: number;
  readonly idleHandOvers: number;
  readonly electionWindowMs: number;
  readonly electionJitterMs: number;
  /**
   * For how long the front believes its catalog, from the question on, and when a use asks anew. It holds out while the
   * catalog gets another leader: two elections in a row, and the time until somebody asks.
   */
  readonly leaseMs: number;
  readonly leaseRenewMs: number;
  /**
   * After so long every lease of the catalog from before is over, on clocks that run a quarter faster or slower, too;
   * and how often whoever waits for that to be known sooner asks.
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
  trashDelayMs: 10_000,
  trashSliceRows: 1000,
  tailBytesMax: 64 * MEBIBYTE,
  forwardedBytesMax: 16 * MEBIBYTE,
  retainedBytesMax: REPLICATION.retainedBytesMax,
  appendBytesMax: REPLICATION.appendBytesMax,
  snapshotsMax: 2,
  // A frame costs more a byte beyond 64 KiB.
  snapshotPartBytes: 56 * KIBIBYTE,
  // What is installed at a time ends with syncs, in which nothing else is: with less there are too many of them.
  snapshotWindowBytes: 4 * MEBIBYTE,
  snapshotRestShare: 0.5,
  snapshotAskMs: 1000,
  snapshotGiveUpMs: 10_000,
  leaderWaitMs: 5000,
  outcomeWaitMs: 5000,
  firstCampaignMs: 100,
  campaignsMax: 128,
  handOverMs: 5000,
  handOversMax: 16,
  heirWaitMs: 500,
  leavingTellMs: 500,
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
  idleHandOvers: 16,
  electionWindowMs: 2500,
  electionJitterMs: 1000,
  leaseMs: 8000,
  leaseRenewMs: 1000,
  fenceMs: 10_000,
  fenceAskMs: 250,
};
