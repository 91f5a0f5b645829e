/**
 * What replicas of one group say to each other: a record for each kind of message, and nothing optional in any of them.
 *
 * Every message carries its sender's term. Messages may be lost, doubled, delayed and reordered; none is believed
 * beyond what is written here.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';

/** Would you vote for me in the term after mine? Changes nothing, neither here nor there. */
export interface PreVoteRequest {
  readonly kind: 'pre-vote-request';
  readonly term: Term;
  /** The candidate's last entry: nobody votes for a shorter log. */
  readonly last: EntryId;
  /** An entry that the sender knows to be committed; so does now everybody who holds it. */
  readonly commit: EntryId;
}

export interface PreVoteReply {
  readonly kind: 'pre-vote-reply';
  readonly term: Term;
  readonly isGranted: boolean;
  readonly commit: EntryId;
}

/** Vote for me in this term. Sent once the candidate's own vote is on disk (R9). */
export interface VoteRequest {
  readonly kind: 'vote-request';
  readonly term: Term;
  readonly last: EntryId;
  readonly commit: EntryId;
  /** The leader itself has asked for this election: nobody refuses it for the leader's sake. */
  readonly isTransfer: boolean;
}

/** A granted vote is on its voter's disk (R9). */
export interface VoteReply {
  readonly kind: 'vote-reply';
  readonly term: Term;
  readonly isGranted: boolean;
  readonly commit: EntryId;
}

/**
 * Entries of the leader's log, in order, behind `previous`. Without entries it only asks whether `previous` is there.
 */
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
  /** Index of the `previous` that was not there. */
  readonly rejected: LogIndex;
  /** The last entry at or before it whose term is not above that of `previous`: the logs part behind it or earlier. */
  readonly hint: EntryId;
}

/** How far the leader has committed, for a follower that it has nothing else to tell. Not answered. */
export interface Commit {
  readonly kind: 'commit';
  readonly term: Term;
  readonly commit: LogIndex;
}

/** I still lead. Answered at once, whatever the disk does. */
export interface Beat {
  readonly kind: 'beat';
  readonly term: Term;
  readonly commit: LogIndex;
  /** The round of confirmation that the leader is in; counts from 0 in each term (R5). */
  readonly round: number;
}

/** I still follow you; sent after the beat of that round arrived. */
export interface BeatAck {
  readonly kind: 'beat-ack';
  readonly term: Term;
  readonly round: number;
}

/** A follower asks how far a linearizable read must see. */
export interface ReadRequest {
  readonly kind: 'read-request';
  readonly term: Term;
  readonly id: number;
}

export interface ReadReply {
  readonly kind: 'read-reply';
  readonly term: Term;
  readonly id: number;
  /** Undefined when the leader has no room for the read. */
  readonly index: LogIndex | undefined;
}

/** Campaign now: you hold everything I hold, and I want you to lead. */
export interface TimeoutNow {
  readonly kind: 'timeout-now';
  readonly term: Term;
}

/** A snapshot has arrived and lies ready to take the place of the state machine and the log. */
export interface InstallSnapshot {
  readonly kind: 'install-snapshot';
  readonly term: Term;
  readonly snapshot: Snapshot;
}

/** Your term is over. Answers a message of an earlier term, so that a leader of that term learns of it. */
export interface TermNotice {
  readonly kind: 'term-notice';
  readonly term: Term;
}

/** What only the leader of the message's term sends. */
export type LeaderMessage = Append | Commit | Beat | ReadReply | TimeoutNow | InstallSnapshot;

/** What is said to the leader of the message's term. */
export type FollowerMessage = AppendAck | AppendReject | BeatAck | ReadRequest;

export type Message =
  | PreVoteRequest
  | PreVoteReply
  | VoteRequest
  | VoteReply
  | LeaderMessage
  | FollowerMessage
  | TermNotice;

/** Total: a new kind of message does not compile until it is said whose it is. */
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
