/**
 * Messages of a snapshot transfer between two replicas, besides those of Raft.
 *
 *   leader                                            follower
 *     offer  ------------------------------------------>          the leader of this term lacks the missing entries
 *            <------------------------------------------  ask     position, and how many bytes to send
 *     part, part, part  ------------------------------->
 *            <------------------------------------------  ask     more bytes
 *     ...                                                         after a loss: ask again, as the next round
 *     part (the last)  -------------------------------->
 *            <------------------------------------------  end     done
 *
 * Any message may be lost, duplicated or delayed. The leader numbers transfers, the follower numbers rounds.
 */
import type { LogIndex, Term } from '#base';
import type { EntryId, Membership } from '#raft';
import type { Route } from './message-bytes.ts';

/** The members of the group, and the entry that made them so. */
export interface LetterMembers {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** Outcome of a transfer. */
export type EndReason =
  /** The follower has all of it on disk. */
  | 'done'
  /** The follower accepts no further transfers at the moment. */
  | 'busy'
  /** The follower cannot use the data, or the leader cannot send what was requested: their histories differ. */
  | 'refused'
  /** The leader lost its leadership, or the follower has caught up otherwise. */
  | 'over';

export interface SnapshotOffer {
  readonly kind: 'offer';
  /** Term of the leader. */
  readonly term: Term;
}

export interface SnapshotAsk {
  readonly kind: 'ask';
  /** 1 at first; a higher one starts again at the follower's position. */
  readonly round: number;
  /** Total number of bytes of parts that may be sent in this round. */
  readonly credit: number;
  /** Position of the follower at the start of the round, in the terms of its state machine. */
  readonly standing: Uint8Array;
}

export interface SnapshotPart {
  readonly kind: 'part';
  readonly round: number;
  /** Number of the part in its round, from 0. */
  readonly seq: number;
  /** Log position of a replica that has installed this part. */
  readonly last: EntryId;
  readonly isLast: boolean;
  /** Members at the end of the snapshot, or later. */
  readonly members: LetterMembers;
  readonly data: Uint8Array;
}

export interface SnapshotEnd {
  readonly kind: 'end';
  readonly reason: EndReason;
}

export type SnapshotContent = SnapshotOffer | SnapshotAsk | SnapshotPart | SnapshotEnd;

export interface SnapshotLetter<Content extends SnapshotContent = SnapshotContent> extends Route {
  /** Drawn by the leader for each transfer. */
  readonly transfer: number;
  readonly content: Content;
}
