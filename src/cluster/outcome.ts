/**
 * What becomes of a proposal: the expected answers of the catalog and of a database, as values.
 *
 * A proposal that could not even be decided (the queue is full, the node stops, the group is gone) is a rejected
 * promise with a `DatabaseError`; one whose fate is unknown is never answered at all, because the process has ended.
 */
import type {
  Binding,
  DefinitionOutcome,
  KeyOutcome,
  MarkOutcome,
  PlaceOutcome,
  RaiseOutcome,
  RecoverOutcome,
  RegisterOutcome,
  TransactOutcome,
} from '#database';

export type {
  Binding,
  DefinitionOutcome,
  KeyOutcome,
  NodeRegistration,
  NodeState,
  RegisteredNode,
  RegisterOutcome,
  TransactOutcome,
} from '#database';
// The layers above know these through this door; they do not reach into #database for what the cluster answers.
export { faultInRegistration, rootOf } from '#database';

/** A stored event id that is not the one the client wrote. */
export type StoredId = Extract<TransactOutcome, { readonly kind: 'committed' }>['storedIds'][number];

export type CreateOutcome =
  | { readonly kind: 'created'; readonly binding: Binding }
  | { readonly kind: 'exists'; readonly binding: Binding };

export type DeleteOutcome =
  | { readonly kind: 'deleted'; readonly binding: Binding }
  /** The name is bound to nothing, or to another instance than the one that was named. */
  | { readonly kind: 'absent' };

/** What became of an entry that defines something. */
export interface Defined {
  readonly kind: 'definition';
  readonly outcome: DefinitionOutcome;
}

/** Whatever an applied entry can answer. */
export type Outcome =
  | TransactOutcome
  | Defined
  | CreateOutcome
  | DeleteOutcome
  | RegisterOutcome
  | MarkOutcome
  | RecoverOutcome
  | RaiseOutcome
  | KeyOutcome
  | PlaceOutcome;
