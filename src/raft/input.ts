/**
 * The inputs of `step`: every event of a group. Every role handles every input.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId, Snapshot } from './entry.ts';
import type { Target } from './membership.ts';
import type { Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';

/**
 * A `persist` effect is on disk. Its fields are copied from the effect, so that stale completions are detected (R6).
 */
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

/** Requests this membership. Answered by `membership-answered`. */
export interface ChangeMembership {
  readonly kind: 'change-membership';
  readonly target: Target;
  /**
   * Append the membership again even if the group has it already. Once that is committed, most voters know from their
   * own logs that the first one was, and no longer need members that have left.
   */
  readonly isRepeated?: boolean;
}

/** Transfers leadership to this voter. It ends when another replica leads, or after one election window. */
export interface TransferLeadership {
  readonly kind: 'transfer-leadership';
  readonly to: ReplicaId;
}

/** Answers `load-entries`. */
export interface EntriesLoaded {
  readonly kind: 'entries-loaded';
  readonly replica: ReplicaId;
  readonly from: LogIndex;
  /** The requested entries, at least the first; undefined when storage no longer has them. */
  readonly found: { readonly previousTerm: Term; readonly entries: readonly Entry[] } | undefined;
}

/** Result of `send-snapshot`: the last index of the snapshot, or undefined when it did not arrive. */
export interface SnapshotSent {
  readonly kind: 'snapshot-sent';
  readonly replica: ReplicaId;
  readonly index: LogIndex | undefined;
}

/** Inputs that only a leader handles; every other role refuses or ignores them. */
export type LeaderInput =
  /** Append entries with these payloads, in order. Payloads are not empty: an empty one is the leader's no-op. */
  | { readonly kind: 'propose'; readonly payloads: readonly Uint8Array[] }
  | ChangeMembership
  | TransferLeadership
  | EntriesLoaded
  | SnapshotSent
  /** Messages to this replica were lost, according to the transport. */
  | { readonly kind: 'unreachable'; readonly replica: ReplicaId };

export type Input =
  /** Time has passed; due timers fire. */
  | { readonly kind: 'tick' }
  /** Campaign now instead of at the next election deadline. */
  | { readonly kind: 'campaign' }
  /** The leader is certainly gone (all its connections were reset): stop protecting it from other candidates. */
  | { readonly kind: 'forget-leader' }
  | Receive
  /** The runtime has found that a committed entry here differs from the group's. */
  | { readonly kind: 'diverge' }
  /** The leader knows that this replica had acknowledged all entries up to this one, which it lacks. */
  | { readonly kind: 'owe'; readonly acknowledged: EntryId }
  | Persisted
  /**
   * All entries up to this index, all emitted by `apply` effects, have been applied. `retainedBytesMax` lowers the
   * limit of entries that a leader keeps for others; the input may be repeated with the same index to lower it further.
   */
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly retainedBytesMax?: number }
  /** `install-snapshot` is done: state machine and log begin after it, on disk as well. */
  | { readonly kind: 'snapshot-installed'; readonly snapshot: Snapshot }
  /** Request the read index of a linearizable read. The answer has the same id; a leader accepts duplicate ids. */
  | { readonly kind: 'read'; readonly id: number }
  | LeaderInput;

/** Inputs that the role handles; raft.ts handles the others, alike in every role. */
export type RoleInput = Exclude<
  Input,
  { readonly kind: 'receive' | 'diverge' | 'owe' | 'applied' | 'snapshot-installed' }
>;

/** Inputs that every role handles in its own way. */
export type ReplicaInput = Exclude<RoleInput, LeaderInput>;

export type InputKind = Input['kind'];
