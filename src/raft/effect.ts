/**
 * Everything a group can ask of the world: the whole output alphabet of `step`.
 *
 * The runtime carries effects out in the order given, and:
 *   - `persist` effects of one group reach the disk in order; each is answered by one `persisted` input, which
 *     carries its `term`, `vote`, `index` and `logTerm` back;
 *   - `install-snapshot` takes its place in that order, and is answered by `snapshot-installed`;
 *   - `apply` effects are applied in order; an `applied` input says how far that has come;
 *   - `load-entries` is answered by `entries-loaded`, `send-snapshot` by `snapshot-sent`;
 *   - anything else is answered by nothing.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';
import type { Membership } from './membership.ts';
import type { Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';

/** What a replica must never forget: its term, and for whom it voted in it. */
export interface HardState {
  readonly term: Term;
  readonly vote: ReplicaId | undefined;
}

export interface Persist {
  readonly kind: 'persist';
  /** Present when it changed. On disk before, or together with, the entries. */
  readonly hardState: HardState | undefined;
  /** Entries that are on disk from here on are dropped first: another leader has written others in their place. */
  readonly truncateFrom: LogIndex | undefined;
  readonly entries: readonly Entry[];
  /** The term and the vote at the time of this effect. */
  readonly term: Term;
  readonly vote: ReplicaId | undefined;
  /** The last entry of the log at the time of this effect: once it is on disk, everything up to here is. */
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
  /** Too many bytes wait for a quorum; some must commit first. */
  | { readonly kind: 'uncommitted-full'; readonly bytesMax: number }
  /** Too many reads wait for a quorum. */
  | { readonly kind: 'reads-full'; readonly countMax: number }
  /** Leadership is being handed over to this voter. */
  | { readonly kind: 'transferring'; readonly to: ReplicaId }
  /** The leader did not answer a forwarded read in time. */
  | { readonly kind: 'no-answer'; readonly leader: ReplicaId | undefined };

export type MembershipRefusal =
  | Extract<Refusal, { readonly kind: 'not-leader' | 'transferring' }>
  /** The group is this already. */
  | { readonly kind: 'no-change' }
  /** The target cannot be a membership. */
  | { readonly kind: 'malformed'; readonly fault: string }
  /** One change at a time: this entry, or the joint membership that it led to, is still under way. */
  | { readonly kind: 'change-in-flight'; readonly index: LogIndex }
  /** The leader has not committed in its term yet, and may not know the membership that holds. */
  | { readonly kind: 'term-not-committed' }
  /** A voter is a caught-up learner before it is a voter. */
  | { readonly kind: 'not-caught-up'; readonly replica: ReplicaId }
  /** So few of the voters to be are within reach that the group could not go on. */
  | { readonly kind: 'quorum-at-risk'; readonly unreachable: readonly ReplicaId[] };

/** Answers `change-membership`: the entry of the change, which may yet fail to commit, or why there is none. */
export type MembershipAnswer =
  | { readonly kind: 'membership-answered'; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'membership-refused'; readonly refusal: MembershipRefusal };

/** Entries that are no longer in memory, for a replica that is behind. Some of them are enough: it asks again. */
export interface LoadEntries {
  readonly kind: 'load-entries';
  readonly replica: ReplicaId;
  readonly from: LogIndex;
  /** Not this one any more: from here on they are in memory. */
  readonly to: LogIndex;
  readonly bytesMax: number;
}

export type Effect =
  | Persist
  | Proposed
  | MembershipAnswer
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  /** Committed and durable here (R1); each entry is handed out once, in order. */
  | { readonly kind: 'apply'; readonly entries: readonly Entry[] }
  | LoadEntries
  /** A snapshot of what is applied here, which is at least `least`; the message `install-snapshot` goes with it. */
  | { readonly kind: 'send-snapshot'; readonly to: ReplicaId; readonly least: LogIndex; readonly term: Term }
  /** State machine and log on disk become what the snapshot says: nothing before it counts, nothing is behind it. */
  | { readonly kind: 'install-snapshot'; readonly snapshot: Snapshot }
  /** A read may be answered once `index` is applied, if this replica's term is still `term` at that moment (R5). */
  | { readonly kind: 'read-ready'; readonly id: number; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'read-refused'; readonly id: number; readonly refusal: Refusal }
  | { readonly kind: 'fact'; readonly fact: Fact };

export type CampaignIgnored = 'not-a-voter' | 'campaigning' | 'leading' | 'installing' | 'owing';
export type TransferIgnored = 'not-leader' | 'not-a-voter' | 'already-leader' | 'already-transferring';

/** What happened, for logs and metrics. Nothing depends on it. */
export type Fact =
  | { readonly kind: 'became-pre-candidate'; readonly term: Term }
  | { readonly kind: 'became-candidate'; readonly term: Term }
  | { readonly kind: 'became-leader'; readonly term: Term; readonly first: LogIndex }
  | { readonly kind: 'became-follower'; readonly term: Term; readonly leader: ReplicaId | undefined }
  | { readonly kind: 'committed'; readonly index: LogIndex }
  | { readonly kind: 'membership-changed'; readonly index: LogIndex; readonly membership: Membership }
  | { readonly kind: 'campaign-ignored'; readonly reason: CampaignIgnored }
  | { readonly kind: 'completion-ignored'; readonly term: Term; readonly index: LogIndex }
  /** The leader has another entry where this replica has a committed one, and nobody changes what is committed. */
  | {
      readonly kind: 'diverged';
      readonly leader: ReplicaId;
      readonly index: LogIndex;
      readonly here: Term;
      readonly there: Term;
    }
  /** A member lacks an entry that it had acknowledged, up to this one: its disk was put back. It gets them again. */
  | { readonly kind: 'acknowledged-lost'; readonly replica: ReplicaId; readonly acknowledged: EntryId }
  /** Two lead in one term: a voter has forgotten its vote, for its disk was put back. */
  | { readonly kind: 'second-leader'; readonly term: Term; readonly from: ReplicaId }
  /** A vote was asked for while the leader is alive. */
  | { readonly kind: 'vote-request-ignored'; readonly from: ReplicaId; readonly term: Term }
  /** Too few voters have answered for a whole election window. */
  | { readonly kind: 'quorum-lost'; readonly term: Term }
  | { readonly kind: 'transfer-started'; readonly to: ReplicaId }
  | { readonly kind: 'transfer-given-up'; readonly to: ReplicaId }
  | { readonly kind: 'transfer-ignored'; readonly reason: TransferIgnored };
