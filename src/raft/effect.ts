/**
 * Everything a group can ask of the world: the whole output alphabet of `step`.
 *
 * The runtime carries effects out in the order given, and:
 *   - `persist` effects of one group reach the disk in order; each is answered by one `persisted` input, which
 *     carries its `term`, `index` and `logTerm` back;
 *   - `apply` effects are applied in order; an `applied` input says how far that has come;
 *   - anything else is answered by nothing.
 */
import type { LogIndex, Term } from '#base';
import type { Entry, EntryId } from './log.ts';
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
  readonly entries: readonly Entry[];
  /** The term at the time of this effect. */
  readonly term: Term;
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
  | { readonly kind: 'reads-full'; readonly countMax: number };

/** What replicas say to each other. */
export interface VoteRequest {
  readonly kind: 'vote-request';
  readonly term: Term;
  /** The candidate's last entry: nobody votes for a shorter log. */
  readonly last: EntryId;
}

export type Message = VoteRequest;

export type Effect =
  | Persist
  | Proposed
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  /** Committed and durable here (R1); each entry is handed out once, in order. */
  | { readonly kind: 'apply'; readonly entries: readonly Entry[] }
  /** A read may be answered once `index` is applied, if this replica still leads `term` at that moment (R5). */
  | { readonly kind: 'read-ready'; readonly id: number; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'read-refused'; readonly id: number; readonly refusal: Refusal }
  | { readonly kind: 'fact'; readonly fact: Fact };

/** What happened, for logs and metrics. Nothing depends on it. */
export type Fact =
  | { readonly kind: 'became-candidate'; readonly term: Term }
  | { readonly kind: 'became-leader'; readonly term: Term; readonly first: LogIndex }
  | { readonly kind: 'committed'; readonly index: LogIndex }
  | { readonly kind: 'campaign-ignored'; readonly reason: 'not-a-voter' | 'campaigning' | 'leading' }
  | { readonly kind: 'completion-ignored'; readonly term: Term; readonly index: LogIndex };
