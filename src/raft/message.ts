/**
 * Messages between the replicas of one group: a record for each kind, without optional fields.
 *
 * Every message has its sender's term. Messages may be lost, duplicated, delayed and reordered.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';

/** Asks for a vote in the term after the sender's. Changes no state at either side. */
export interface PreVoteRequest {
  readonly kind: 'pre-vote-request';
  readonly term: Term;
  /** The candidate's last entry: a voter refuses a candidate with a shorter log. */
  readonly last: EntryId;
  /** An entry that the sender knows to be committed; a receiver that has it learns that. */
  readonly commit: EntryId;
}

export interface PreVoteReply {
  readonly kind: 'pre-vote-reply';
  readonly term: Term;
  readonly isGranted: boolean;
  readonly commit: EntryId;
}

/** Requests a vote in this term. Sent once the candidate's own vote is on disk (R9). */
export interface VoteRequest {
  readonly kind: 'vote-request';
  readonly term: Term;
  readonly last: EntryId;
  readonly commit: EntryId;
  /** True: the leader requested this election, so voters do not refuse it for the leader's sake. */
  readonly isTransfer: boolean;
}

/** A granted vote is on the voter's disk (R9). */
export interface VoteReply {
  readonly kind: 'vote-reply';
  readonly term: Term;
  readonly isGranted: boolean;
  readonly commit: EntryId;
}

/** Entries of the leader's log, in order, after `previous`. Without entries it only checks for `previous`. */
export interface Append {
  readonly kind: 'append';
  readonly term: Term;
  readonly previous: EntryId;
  readonly entries: readonly Entry[];
  readonly commit: LogIndex;
}

/** The sender's disk holds the leader's log up to `match` (R9). */
export interface AppendAck {
  readonly kind: 'append-ack';
  readonly term: Term;
  readonly match: LogIndex;
}

/** The log has no entry with the id of `previous`. */
export interface AppendReject {
  readonly kind: 'append-reject';
  readonly term: Term;
  /** Index of the missing `previous`. */
  readonly rejected: LogIndex;
  /** The last entry at or before it whose term is not above that of `previous`: the logs agree up to it at most. */
  readonly hint: EntryId;
}

/** The leader's commit index, for a follower that needs no entries. Not answered. */
export interface Commit {
  readonly kind: 'commit';
  readonly term: Term;
  readonly commit: LogIndex;
}

/** Heartbeat of the leader. Answered at once, without waiting for the disk. */
export interface Beat {
  readonly kind: 'beat';
  readonly term: Term;
  readonly commit: LogIndex;
  /** The current confirmation round of the leader; counts from 0 in each term (R5). */
  readonly round: number;
}

/** Answers a heartbeat; sent after that of the round arrived. */
export interface BeatAck {
  readonly kind: 'beat-ack';
  readonly term: Term;
  readonly round: number;
}

/** Asks the leader for the read index of a linearizable read. */
export interface ReadRequest {
  readonly kind: 'read-request';
  readonly term: Term;
  readonly id: number;
}

export interface ReadReply {
  readonly kind: 'read-reply';
  readonly term: Term;
  readonly id: number;
  /** Undefined when the leader's limit of pending reads is reached. */
  readonly index: LogIndex | undefined;
}

/** Asks the receiver to campaign now: it has all entries of the leader. */
export interface TimeoutNow {
  readonly kind: 'timeout-now';
  readonly term: Term;
}

/** A snapshot has arrived and is ready to replace the state machine and the log. */
export interface InstallSnapshot {
  readonly kind: 'install-snapshot';
  readonly term: Term;
  readonly snapshot: Snapshot;
}

/** Answers a message of an earlier term with the current one, so that a stale leader learns of it. */
export interface TermNotice {
  readonly kind: 'term-notice';
  readonly term: Term;
}

/** Messages that only the leader of the message's term sends. */
export type LeaderMessage = Append | Commit | Beat | ReadReply | TimeoutNow | InstallSnapshot;

/** Messages to the leader of the message's term. */
export type FollowerMessage = AppendAck | AppendReject | BeatAck | ReadRequest;

export type Message =
  | PreVoteRequest
  | PreVoteReply
  | VoteRequest
  | VoteReply
  | LeaderMessage
  | FollowerMessage
  | TermNotice;

/** Total: a new kind of message does not compile without an entry. */
const FROM_LEADER: Readonly<Record<Message['kind'], boolean>> = {
  'pre-vote-request': false,
  'pre-vote-reply': false,
  'vote-request': false,
  'vote-reply': false,
  append: true,
  commit: true,
  beat: true,
  'read-reply': true,
  'timeout-now': true,
  'install-snapshot': true,
  'append-ack': false,
  'append-reject': false,
  'beat-ack': false,
  'read-request': false,
  'term-notice': false,
};

export function isFromLeader(message: Message): boolean {
  return FROM_LEADER[message.kind];
}
