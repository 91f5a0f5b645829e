/**
 * The effects of `step`: all outputs of a group.
 *
 * The runtime executes effects in the order given:
 *   - `persist` effects of one group reach the disk in order; each is answered by one `persisted` input, which
 *     carries its `term`, `vote`, `index` and `logTerm` back;
 *   - `install-snapshot` is executed in that order, and is answered by `snapshot-installed`;
 *   - `apply` effects are applied in order; an `applied` input reports the progress;
 *   - `load-entries` is answered by `entries-loaded`, `send-snapshot` by `snapshot-sent`;
 *   - all other effects have no answer.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';
import type { Membership } from './membership.ts';
import type { Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';

/** The durable state of a replica: its term, and its vote in it. */
export interface HardState {
  readonly term: Term;
  readonly vote: ReplicaId | undefined;
}

export interface Persist {
  readonly kind: 'persist';
  /** Present when it changed. It must reach the disk before, or together with, the entries. */
  readonly hardState: HardState | undefined;
  /** Drop the entries on disk from here on first: another leader has overwritten them. */
  readonly truncateFrom: LogIndex | undefined;
  readonly entries: readonly Entry[];
  /** The term and the vote at the time of this effect. */
  readonly term: Term;
  readonly vote: ReplicaId | undefined;
  /** The last entry of the log at the time of this effect: once it is durable, so is everything before it. */
  readonly index: LogIndex;
  readonly logTerm: Term;
}

/** Answers one `propose`: the payloads before `accepted` became entries from `first` on, the rest did not. */
export interface Proposed {
  readonly kind: 'proposed';
  readonly term: Term;
  readonly first: LogIndex;
  readonly accepted: number;
  readonly refused: Refusal | undefined;
}

export type Refusal =
  | { readonly kind: 'not-leader'; readonly leader: ReplicaId | undefined }
  /** The limit of uncommitted bytes is reached; some must commit first. */
  | { readonly kind: 'uncommitted-full'; readonly bytesMax: number }
  /** The limit of pending reads is reached. */
  | { readonly kind: 'reads-full'; readonly countMax: number }
  /** A leadership transfer to this voter is in progress. */
  | { readonly kind: 'transferring'; readonly to: ReplicaId }
  /** The leader did not answer a forwarded read in time. */
  | { readonly kind: 'no-answer'; readonly leader: ReplicaId | undefined };

export type MembershipRefusal =
  | Extract<Refusal, { readonly kind: 'not-leader' | 'transferring' }>
  /** The group has this membership already. */
  | { readonly kind: 'no-change' }
  /** The target is no valid membership. */
  | { readonly kind: 'malformed'; readonly fault: string }
  /** One change at a time: this entry, or the joint membership that it led to, is still pending. */
  | { readonly kind: 'change-in-flight'; readonly index: LogIndex }
  /** The leader has not committed in its term yet, and may not know the current membership. */
  | { readonly kind: 'term-not-committed' }
  /** A new voter must be a caught-up learner first. */
  | { readonly kind: 'not-caught-up'; readonly replica: ReplicaId }
  /** Too few of the new voters are reachable for a quorum. */
  | { readonly kind: 'quorum-at-risk'; readonly unreachable: readonly ReplicaId[] };

/** Answers `change-membership`: the entry of the change, which may still fail to commit, or why there is none. */
export type MembershipAnswer =
  | { readonly kind: 'membership-answered'; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'membership-refused'; readonly refusal: MembershipRefusal };

/** Loads entries that are no longer in memory, for a lagging member. A part of them is enough: it asks again. */
export interface LoadEntries {
  readonly kind: 'load-entries';
  readonly replica: ReplicaId;
  readonly from: LogIndex;
  /** Exclusive end: from here on entries are in memory. */
  readonly to: LogIndex;
  readonly bytesMax: number;
}

export type Effect =
  | Persist
  | Proposed
  | MembershipAnswer
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  /** Committed and durable entries (R1); each is emitted once, in order. */
  | { readonly kind: 'apply'; readonly entries: readonly Entry[] }
  | LoadEntries
  /** Send a snapshot of the applied state, at `least` or later, with the message `install-snapshot`. */
  | { readonly kind: 'send-snapshot'; readonly to: ReplicaId; readonly least: LogIndex; readonly term: Term }
  /** Replace state machine and log on disk by the snapshot: the log is then empty after it. */
  | { readonly kind: 'install-snapshot'; readonly snapshot: Snapshot }
  /** A read may be answered once `index` is applied, if this replica's term is still `term` at that moment (R5). */
  | { readonly kind: 'read-ready'; readonly id: number; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'read-refused'; readonly id: number; readonly refusal: Refusal }
  | { readonly kind: 'fact'; readonly fact: Fact };

export type CampaignIgnored = 'not-a-voter' | 'campaigning' | 'leading' | 'installing' | 'owing';
export type TransferIgnored = 'not-leader' | 'not-a-voter' | 'already-leader' | 'already-transferring';

/** Events for logs and metrics. Nothing depends on them. */
export type Fact =
  | { readonly kind: 'became-pre-candidate'; readonly term: Term }
  | { readonly kind: 'became-candidate'; readonly term: Term }
  | { readonly kind: 'became-leader'; readonly term: Term; readonly first: LogIndex }
  | { readonly kind: 'became-follower'; readonly term: Term; readonly leader: ReplicaId | undefined }
  | { readonly kind: 'committed'; readonly index: LogIndex }
  | { readonly kind: 'membership-changed'; readonly index: LogIndex; readonly membership: Membership }
  | { readonly kind: 'campaign-ignored'; readonly reason: CampaignIgnored }
  | { readonly kind: 'completion-ignored'; readonly term: Term; readonly index: LogIndex }
  /** The leader's log differs from this one at a committed entry, which must never change. */
  | {
      readonly kind: 'diverged';
      readonly leader: ReplicaId;
      readonly index: LogIndex;
      readonly here: Term;
      readonly there: Term;
    }
  /** A member lacks entries that it had acknowledged, up to this one: its disk was restored. They are sent again. */
  | { readonly kind: 'acknowledged-lost'; readonly replica: ReplicaId; readonly acknowledged: EntryId }
  /** There are two leaders in one term: a voter has lost its vote, because its disk was restored. */
  | { readonly kind: 'second-leader'; readonly term: Term; readonly from: ReplicaId }
  /** A vote was requested while the leader is alive. */
  | { readonly kind: 'vote-request-ignored'; readonly from: ReplicaId; readonly term: Term }
  /** No quorum has answered for a whole election window. */
  | { readonly kind: 'quorum-lost'; readonly term: Term }
  | { readonly kind: 'transfer-started'; readonly to: ReplicaId }
  | { readonly kind: 'transfer-given-up'; readonly to: ReplicaId }
  | { readonly kind: 'transfer-ignored'; readonly reason: TransferIgnored };
