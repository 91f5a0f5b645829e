/**
 * Requests of clients that a node forwards to the leader of a group, and the replies. The sender numbers its requests;
 * a reply carries the number of its request.
 *
 * A reply is not the outcome: the sender has a replica too, applies the entry itself, and finds the outcome there.
 */
import type { DatabaseError, GroupId, LogIndex, ReplicaId, Term } from '#base';
import type { EntryId } from '#raft';

/** Numbers a request. Each process draws its `session`, so that no reply reaches a later process. */
interface Numbered {
  readonly session: number;
  readonly id: number;
}

/**
 * Progress of clients in the catalog, and of its deletions (catalog-fence.ts), each up to a log index. A node asks the
 * leader to report when deletions are past; the leader asks the others to report when their clients see them; and the
 * replies.
 */
export type FenceItem = Fence<'await-past'> | Fence<'await-shown'> | Fence<'shown'> | Fence<'past'>;

interface Fence<Kind> {
  readonly kind: Kind;
  readonly index: LogIndex;
}

/**
 * A node that should lead nothing that others can lead: `leaving`, it is about to end, and accepts no replicas either;
 * `full`, it refuses writes for lack of disk space, or because of its clock.
 */
export type DepartureItem = { readonly kind: 'leaving' } | { readonly kind: 'full' };

/** Clock request or reply between nodes; a reply repeats the monotonic time of its request (peer-clocks.ts). */
export type ClockItem =
  | { readonly kind: 'clock-ask'; readonly askedMs: number }
  | { readonly kind: 'clock-told'; readonly askedMs: number; readonly wallMs: number };

/**
 * Two replicas compare their histories (histories.ts): `compare` carries the sender's position, `same` and `differs`
 * are the replies of the leader. `replica` is always the follower.
 */
export type HistoryItem = {
  readonly group: GroupId;
  readonly replica: ReplicaId;
  /** Term of both. */
  readonly term: Term;
} & (
  | { readonly kind: 'compare'; readonly standing: Uint8Array }
  | { readonly kind: 'same' }
  /** Text with the values of both. */
  | { readonly kind: 'differs'; readonly reason: string }
  /** The replica had acknowledged everything up to this entry, and lacks it (R16). */
  | { readonly kind: 'acknowledged'; readonly acknowledged: EntryId }
);

export type ForwardItem = FenceItem | DepartureItem | ClockItem | HistoryItem | Request;

type Request = Numbered &
  (
    | { readonly kind: 'propose'; readonly group: GroupId; readonly payload: Uint8Array }
    /** The leader of the catalog chooses identity, time and placement of a new database. */
    | { readonly kind: 'create'; readonly name: string; readonly copies: number }
    /** It is an entry of the leader's log. Its outcome is known when this index is applied. */
    | { readonly kind: 'accepted'; readonly index: LogIndex; readonly term: Term }
    /** It is not an entry, and will never be one. */
    | { readonly kind: 'refused'; readonly error: DatabaseError }
  );
