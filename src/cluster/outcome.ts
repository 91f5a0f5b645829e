/**
 * Outcomes of proposals: the expected answers of the catalog and of a database, as values.
 *
 * A proposal that could not be decided (the queue is full, the node stops, the group is gone) is a rejected promise
 * with a `DatabaseError`, and so is one whose outcome is unknown, unless the process ends first.
 */
import type {
  Binding,
  Defined,
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
// Layers above get these from here, and do not import #database for answers of the cluster.
export { faultInRegistration, rootOf } from '#database';

/** A stored event id that differs from the one of the client. */
export type StoredId = Extract<TransactOutcome, { readonly kind: 'committed' }>['storedIds'][number];

export type CreateOutcome =
  | { readonly kind: 'created'; readonly binding: Binding }
  | { readonly kind: 'exists'; readonly binding: Binding };

export type DeleteOutcome =
  | { readonly kind: 'deleted'; readonly binding: Binding }
  /** The name is bound to nothing, or to another instance than the named one. */
  | { readonly kind: 'absent' };

/** Every possible outcome of an applied entry. */
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
