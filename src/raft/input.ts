/**
 * Everything that can happen to a group: the whole input alphabet of `step`. Every role answers every input.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';
import type { Target } from './membership.ts';
import type { Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';

/** A `persist` effect is on disk. Copied from that effect, so that a completion of an overwritten write shows (R6). */
export interface Persisted {
  readonly kind: 'persisted';
  readonly term: Term;
  readonly vote: ReplicaId | undefined;
  readonly index: LogIndex;
  readonly logTerm: Term;
}

export interface Receive {
  readonly kind: 'receive';
  readonly from: ReplicaId;
  readonly message: Message;
}

/** The group shall be this. Answered by `membership-answered`. */
export interface ChangeMembership {
  readonly kind: 'change-membership';
  readonly target: Target;
  /**
   * If the group is the target already, say so once more. When that is committed, most of the voters know from their
   * logs alone that the first time was, and need nobody any more who belonged to the membership before it.
   */
  readonly isRepeated?: boolean;
}

/** Hand leadership over to this voter. It is done when somebody else leads, or given up after one election window. */
export interface TransferLeadership {
  readonly kind: 'transfer-leadership';
  readonly to: ReplicaId;
}

/** Answers `load-entries`. */
export interface EntriesLoaded {
  readonly kind: 'entries-loaded';
  readonly replica: ReplicaId;
  readonly from: LogIndex;
  /** At least the first of the entries that were asked for; undefined when storage no longer holds them. */
  readonly found: { readonly previousTerm: Term; readonly entries: readonly Entry[] } | undefined;
}

/** How `send-snapshot` ended: the last index of what was sent, or undefined when it did not arrive. */
export interface SnapshotSent {
  readonly kind: 'snapshot-sent';
  readonly replica: ReplicaId;
  readonly index: LogIndex | undefined;
}

/** What only a leader does something about; every other role says so or has nothing to say. */
export type LeaderInput =
  | ChangeMembership
  | TransferLeadership
  | EntriesLoaded
  | SnapshotSent
  /** Messages to this replica were lost, as far as the transport can tell. */
  | { readonly kind: 'unreachable'; readonly replica: ReplicaId };

export type Input =
  /** Time has passed; the deadlines that are due fire. */
  | { readonly kind: 'tick' }
  /** Ask for leadership now instead of at the next election deadline. */
  | { readonly kind: 'campaign' }
  /** The leader is gone for certain (all its connections were reset): no need to be loyal to it any longer. */
  | { readonly kind: 'forget-leader' }
  | Receive
  /** What is committed here is not what the group has committed, as the runtime has found out. */
  | { readonly kind: 'diverge' }
  /** The leader knows that this replica had acknowledged everything up to this entry, which it lacks. */
  | { readonly kind: 'owe'; readonly acknowledged: EntryId }
  /** Add entries with these payloads, in this order. Payloads are not empty: empty is the leader's no-op. */
  | { readonly kind: 'propose'; readonly payloads: readonly Uint8Array[] }
  | Persisted
  /**
   * Everything up to this index, all of it handed out by `apply` effects, has been applied. A leader that keeps some of
   * it for others keeps less when there is less room for it than its bound allows; the same index may be said again
   * when there is less.
   */
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly retainedBytesMax?: number }
  /** `install-snapshot` is done: state machine and log begin behind it, on disk as well. */
  | { readonly kind: 'snapshot-installed'; readonly snapshot: Snapshot }
  /**
   * Ask how far a linearizable read must see. The id comes back in the answer; ids need not be distinct at a leader.
   */
  | { readonly kind: 'read'; readonly id: number }
  | LeaderInput;

/** What the role decides about; the rest is the same for every role (raft.ts). */
export type RoleInput = Exclude<
  Input,
  { readonly kind: 'receive' | 'diverge' | 'owe' | 'applied' | 'snapshot-installed' }
>;

export type InputKind = Input['kind'];
