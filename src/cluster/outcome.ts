/**
 * What becomes of a proposal: the expected answers of the catalog and of a database, as values.
 *
 * A proposal that could not even be decided (the queue is full, the node stops, the group is gone) is a rejected
 * promise with a `DatabaseError`; one whose fate is unknown is never answered at all, because the process has ended.
 */
import type { ConstraintViolation, DatabaseId, GroupId, Revision } from '#base';

/** Which database a name means, and which group holds it. An instance keeps its id and its group for life. */
export interface Binding {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly group: GroupId;
  readonly createdAtMs: number;
}

/** A stored event id that is not the one the client wrote. */
export interface StoredId {
  /** Place of the event in its transaction, 0-based. */
  readonly index: number;
  readonly id: string;
}

export type TransactOutcome =
  | {
      readonly kind: 'committed';
      readonly revision: Revision;
      /** The revision that the transaction was committed on top of. */
      readonly basis: Revision;
      readonly recordedTimeMs: number;
      readonly eventCount: number;
      /** Only the ids that differ from what the client wrote. */
      readonly storedIds: readonly StoredId[];
    }
  /** The transaction id was recorded before: its result stands at this revision, whatever this body said. */
  | { readonly kind: 'replayed'; readonly revision: Revision }
  | {
      readonly kind: 'violated';
      readonly revision: Revision;
      readonly violations: readonly ConstraintViolation[];
    };

export type CreateOutcome =
  | { readonly kind: 'created'; readonly binding: Binding }
  | { readonly kind: 'exists'; readonly binding: Binding };

export type DeleteOutcome =
  | { readonly kind: 'deleted'; readonly binding: Binding }
  /** The name is bound to nothing, or to another instance than the one that was named. */
  | { readonly kind: 'absent' };

/** Whatever an applied entry can answer. */
export type Outcome = TransactOutcome | CreateOutcome | DeleteOutcome;
