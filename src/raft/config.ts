/**
 * Fixed configuration of a replica: its id, timeouts and limits.
 */
import type { ReplicaId } from './quorum.ts';

export interface Config {
  readonly self: ReplicaId;
  /** Election timeout: after this long without a leader, plus up to `electionJitterMs`, a voter campaigns. */
  readonly electionWindowMs: number;
  readonly electionJitterMs: number;
  /** Maximum bytes of uncommitted payloads; one proposal always fits when there are none. */
  readonly uncommittedBytesMax: number;
  readonly pendingReadsMax: number;
  readonly replication: ReplicationConfig;
}

/** Settings for groups of more than one member. */
export interface ReplicationConfig {
  /** Heartbeat interval. All leaders of a process send heartbeats at its multiples. */
  readonly beatMs: number;
  /** Bytes of payloads in one append; one entry always fits. */
  readonly appendBytesMax: number;
  /** Maximum unacknowledged appends to one member, and their bytes; one append always fits when there are none. */
  readonly inFlightMessagesMax: number;
  readonly inFlightBytesMax: number;
  /** Smaller appends wait for more entries while another is unanswered and this disk still writes its entries. */
  readonly gatherBytes: number;
  /** Bytes of applied entries that a leader keeps in memory for lagging members. */
  readonly retainedBytesMax: number;
  /** A learner that lacks at most this many entries may become a voter. */
  readonly catchUpEntriesMax: number;
}

const KIBIBYTE = 2 ** 10;
const MEBIBYTE = 2 ** 20;

export const REPLICATION: ReplicationConfig = {
  beatMs: 500,
  appendBytesMax: 256 * KIBIBYTE,
  inFlightMessagesMax: 64,
  inFlightBytesMax: 8 * MEBIBYTE,
  gatherBytes: 64 * KIBIBYTE,
  retainedBytesMax: 16 * MEBIBYTE,
  catchUpEntriesMax: 128,
};
