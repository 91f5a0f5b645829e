/**
 * What a node that does not lead a group says to the one that does, about requests of its own clients; and what that
 * one answers. Requests are numbered by whoever asks; an answer carries the number of its request.
 *
 * The answer is not the outcome: whoever asked holds a replica too, applies the entry itself, and finds the outcome
 * there.
 */
import type { DatabaseError, GroupId, LogIndex, Term } from '#base';

/** Numbers a request: `session` is drawn by each process that asks, so that no answer is taken for one to another. */
interface Numbered {
  readonly session: number;
  readonly id: number;
}

export type ForwardItem = Numbered &
  (
    | { readonly kind: 'propose'; readonly group: GroupId; readonly payload: Uint8Array }
    /** The leader of the catalog chooses identity, time and place of a new database. */
    | { readonly kind: 'create'; readonly name: string }
    /** It is an entry of the leader's log: what becomes of it is known where this index is applied. */
    | { readonly kind: 'accepted'; readonly index: LogIndex; readonly term: Term }
    /** It is no entry, and will never be one. */
    | { readonly kind: 'refused'; readonly error: DatabaseError }
  );
