/**
 * The state of each role: a follower cannot have a table of peers, and a leader cannot have votes.
 */
import { type LogIndex, toLogIndex } from '#base';
import type { Progress } from './progress.ts';
import type { ReplicaId } from './quorum.ts';

export interface Follower {
  readonly kind: 'follower';
  readonly leader: ReplicaId | undefined;
  /** Time of the leader's last message, by the caller's clock; meaningless without a leader. */
  readonly heardMs: number;
  /** Highest index up to which appends of this term have shown the log to equal the leader's (R10). */
  readonly verified: LogIndex;
  /** True: an append of this term waits for the disk before it is acknowledged (R9). */
  readonly owesAck: boolean;
  /** Reads forwarded to the leader, in order. */
  readonly reads: readonly ForwardedRead[];
}

export interface ForwardedRead {
  readonly id: number;
  /** The id of the request to the leader; unique. */
  readonly ticket: number;
  readonly deadlineMs: number;
}

/** Asks whether it would win an election, before it disturbs others with a new term. */
export interface PreCandidate {
  readonly kind: 'pre-candidate';
  readonly votes: Votes;
}

export interface Candidate {
  readonly kind: 'candidate';
  /** Its own vote counts like any other: once it is on disk (R7). */
  readonly votes: Votes;
  readonly isTransfer: boolean;
}

/** The answers of voters. */
export type Votes = ReadonlyMap<ReplicaId, boolean>;

export interface Leader {
  readonly kind: 'leader';
  /** Index of the no-op of this leadership. Until it is committed the commit index may be stale (R5). */
  readonly first: LogIndex;
  /** All other members. The leader's own progress is that of its disk (R4). */
  readonly peers: ReadonlyMap<ReplicaId, Peer>;
  /** Bytes of the payloads after the commit index. */
  readonly uncommittedBytes: number;
  /** Reads that wait for the first commit of the term or a quorum, in order of arrival. */
  readonly reads: readonly PendingRead[];
  /** The last confirmation round that was begun; heartbeats carry its number (R5). */
  readonly round: number;
  /** The leadership transfer in progress; proposals are refused during it. */
  readonly transfer: Transfer | undefined;
}

export interface Peer {
  readonly progress: Progress;
  /** Time of its last message in this term; initially the beginning of the leadership. */
  readonly heardMs: number;
  /** True once a message has arrived in this term. */
  readonly hasAnswered: boolean;
  /** The last round that it has confirmed. */
  readonly round: number;
  /** The highest commit index that was sent to it. */
  readonly sentCommit: LogIndex;
  /** Its match index at the last heartbeat: without progress since, a message may be lost. */
  readonly matchAtBeat: LogIndex;
}

export interface PendingRead {
  readonly id: number;
  /** The follower that forwarded it; undefined for a read of this replica. */
  readonly from: ReplicaId | undefined;
  /** The read is confirmed when a quorum has confirmed this round or a later one, begun after its arrival. */
  readonly round: number;
}

export interface Transfer {
  readonly to: ReplicaId;
  /** True: it has all entries and was asked to campaign. */
  readonly isAsked: boolean;
}

export type Role = Follower | PreCandidate | Candidate | Leader;

/** A follower without any message in this term yet, except the first one of this leader. */
export function followerOf(leader: ReplicaId | undefined, heardMs: number): Follower {
  return { kind: 'follower', leader, heardMs, verified: toLogIndex(0), owesAck: false, reads: [] };
}
