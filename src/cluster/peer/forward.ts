/**
 * What a node that does not lead a group says to the one that does, about requests of its own clients; and what that
 * one answers. The asking node numbers its requests; an answer carries the number of its request.
 *
 * The answer is not the outcome: the node that asked holds a replica too, applies the entry itself, and finds the
 * outcome there.
 */
import type { DatabaseError, GroupId, LogIndex, ReplicaId, Term } from '#base';
import type { EntryId } from '#raft';

/** Numbers a request: `session` is drawn by each process that asks, so that no answer is taken for one to another. */
interface Numbered {
  readonly session: number;
  readonly id: number;
}

/**
 * How far the clients of each node see the catalog, and how far its deletions are past (catalog-fence.ts), each up to
 * an index of its log: a node asks the leader to say when they are past; the leader asks the others to say when their
 * clients see them; and the answers.
 */
export interface FenceItem {
  readonly kind: 'await-past' | 'await-shown' | 'shown' | 'past';
  readonly index: LogIndex;
}

/**
 * The node that says it is to lead nothing that others could: `leaving`, it is about to end, and takes no copies
 * either; `full`, it refuses writes for want of room on its disk, or for its clock.
 */
export type DepartureItem = { readonly kind: 'leaving' } | { readonly kind: 'full' };

/** Clock request or reply between nodes; a reply repeats the monotonic time of its request (peer-clocks.ts). */
export type ClockItem =
  | { readonly kind: 'clock-ask'; readonly askedMs: number }
  | { readonly kind: 'clock-told'; readonly askedMs: number; readonly wallMs: number };

/**
 * Two replicas compare their histories (histories.ts): `compare` says where the sender stands, `same` and `differs` are
 * the answers of the leader. `replica` is always the one that does not lead.
 */
export type HistoryItem = {
  readonly group: GroupId;
  readonly replica: ReplicaId;
  /** In which both are. */
  readonly term: Term;
} & (
  | { readonly kind: 'compare'; readonly standing: Uint8Array }
  | { readonly kind: 'same' }
  /** As text, with the values of both. */
  | { readonly kind: 'differs'; readonly reason: string }
  /** The replica had acknowledged everything up to this entry, and lacks it (R16). */
  | { readonly kind: 'acknowledged'; readonly acknowledged: EntryId }
);

export type ForwardItem = FenceItem | DepartureItem | ClockItem | HistoryItem | Request;

type Request = Numbered &
  (
    | { readonly kind: 'propose'; readonly group: GroupId; readonly payload: Uint8Array }
    /** The leader of the catalog chooses identity, time and place of a new database. */
    | { readonly kind: 'create'; readonly name: string }
    /** It is an entry of the leader's log: what becomes of it is known where this index is applied. */
    | { readonly kind: 'accepted'; readonly index: LogIndex; readonly term: Term }
    /** It is no entry, and will never be one. */
    | { readonly kind: 'refused'; readonly error: DatabaseError }
  );
