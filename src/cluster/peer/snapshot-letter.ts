/**
 * What two replicas say to each other while one gives the other what its log lacks, beside the messages of Raft.
 *
 *   leader                                            follower
 *     offer  ------------------------------------------>          I lead in this term, and you lack what I no longer have
 *            <------------------------------------------  ask     I stand here; send so many bytes
 *     part, part, part  ------------------------------->
 *            <------------------------------------------  ask     so many more
 *     ...                                                         something was lost: ask again, as the next round
 *     part (the last)  -------------------------------->
 *            <------------------------------------------  end     done
 *
 * Any of it may be lost, doubled or late. A transfer has a number of its leader's, a round is one of the follower's.
 */
import type { LogIndex, Term } from '#base';
import type { EntryId, Membership } from '#raft';
import type { Route } from './message-bytes.ts';

/** Who belonged to the group, and where the entry stands that said so. */
export interface LetterMembers {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** How a transfer ended. */
export type EndReason =
  /** The follower has all of it on disk. */
  | 'done'
  /** The follower takes no more transfers at the moment. */
  | 'busy'
  /** The follower cannot use what it gets, or the leader cannot give what is asked for: their histories differ. */
  | 'refused'
  /** The leader leads no more, or the follower has caught up by another way. */
  | 'over';

export interface SnapshotOffer {
  readonly kind: 'offer';
  /** The leader's. */
  readonly term: Term;
}

export interface SnapshotAsk {
  readonly kind: 'ask';
  /** 1 at first; a higher one begins anew where the follower stands. */
  readonly round: number;
  /** Bytes of parts that may be sent in this round, those that were sent included. */
  readonly credit: number;
  /** Where the follower stood when the round began, in the terms of its state machine. */
  readonly standing: Uint8Array;
}

export interface SnapshotPart {
  readonly kind: 'part';
  readonly round: number;
  /** Counts the parts of the round from 0. */
  readonly seq: number;
  /** Log position of a replica that has installed this part. */
  readonly last: EntryId;
  readonly isLast: boolean;
  /** As of the end of the whole, or later. */
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
