/**
 * What only one role has: a follower cannot have a table of peers, and a leader cannot have votes.
 */
import { type LogIndex, toLogIndex } from '#base';
import type { Progress } from './progress.ts';
import type { ReplicaId } from './quorum.ts';

export interface Follower {
  readonly kind: 'follower';
  readonly leader: ReplicaId | undefined;
  /** When the leader was last heard of, by the caller's clock; meaningless without a leader. */
  readonly heardMs: number;
  /** Appends of this term have shown that the log up to here is the leader's (R10). */
  readonly verified: LogIndex;
  /** An append of this term waits for the disk before it is acknowledged (R9). */
  readonly owesAck: boolean;
  /** Reads that the leader was asked about, in order. */
  readonly reads: readonly ForwardedRead[];
}

export interface ForwardedRead {
  readonly id: number;
  /** The number of the question to the leader; never used twice. */
  readonly ticket: number;
  readonly deadlineMs: number;
}

/** Asks whether an election could be won, before it disturbs anybody by a new term. */
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

/** Who has answered, and how. */
export type Votes = ReadonlyMap<ReplicaId, boolean>;

export interface Leader {
  readonly kind: 'leader';
  /** The no-op that opened this leadership. Until it is committed nothing is known to be current (R5). */
  readonly first: LogIndex;
  /** Every other member. Of itself a leader knows what its disk holds (R4). */
  readonly peers: ReadonlyMap<ReplicaId, Peer>;
  /** Bytes of the payloads behind the commit index. */
  readonly uncommittedBytes: number;
  /** Reads that still need the first commit of the term or a quorum, in order of arrival. */
  readonly reads: readonly PendingRead[];
  /** The last round of confirmation that was begun: its number went out with beats (R5). */
  readonly round: number;
  /** To whom leadership is being handed over; nothing is proposed meanwhile. */
  readonly transfer: Transfer | undefined;
}

export interface Peer {
  readonly progress: Progress;
  /** When anything of this term was last heard of it; the beginning of the leadership counts too. */
  readonly heardMs: number;
  /** Whether anything was, beside the beginning. */
  readonly hasAnswered: boolean;
  /** The last round that it has confirmed. */
  readonly round: number;
  /** The highest commit index that it was told. */
  readonly toldCommit: LogIndex;
  /** What it held at the beat before: when that has not moved, something may be lost. */
  readonly matchAtBeat: LogIndex;
}

export interface PendingRead {
  readonly id: number;
  /** The follower that forwarded it; undefined for one of this replica's own. */
  readonly from: ReplicaId | undefined;
  /** Confirmed when a quorum has confirmed this round or a later one. It began after the read arrived. */
  readonly round: number;
}

export interface Transfer {
  readonly to: ReplicaId;
  /** It has everything and was told to campaign. */
  readonly isTold: boolean;
}

export type Role = Follower | PreCandidate | Candidate | Leader;

/** A follower that has heard nothing in this term yet, or only just of this leader. */
export function followerOf(leader: ReplicaId | undefined, heardMs: number): Follower {
  return { kind: 'follower', leader, heardMs, verified: toLogIndex(0), owesAck: false, reads: [] };
}
