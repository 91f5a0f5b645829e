/**
 * What a replica is told once and for all: who it is, its windows and its bounds.
 */
import type { ReplicaId } from './quorum.ts';

export interface Config {
  readonly self: ReplicaId;
  /** Without a leader for this long, plus up to `electionJitterMs`, a voter campaigns. */
  readonly electionWindowMs: number;
  readonly electionJitterMs: number;
  /** Bytes of payloads that may wait for a quorum; one proposal always fits when none wait. */
  readonly uncommittedBytesMax: number;
  readonly pendingReadsMax: number;
  readonly replication: ReplicationConfig;
}

/** What matters as soon as a group has more than one member. */
export interface ReplicationConfig {
  /** Time between two beats of a leader. All leaders of a process beat at the multiples of it. */
  readonly beatMs: number;
  /** Bytes of payloads in one append; one entry always fits. */
  readonly appendBytesMax: number;
  /** Appends to one member that may be unanswered, and the bytes in them; one append always fits when none are. */
  readonly inFlightMessagesMax: number;
  readonly inFlightBytesMax: number;
  /** What has fewer bytes waits for more while something is unanswered and this disk busy with what was sent. */
  readonly gatherBytes: number;
  /** Bytes of applied entries that a leader keeps in memory for members that are behind. */
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
