/** Converts settlements of the core to answers of the node: each request has an outcome of its kind. */
import { assert, type Revision } from '#base';
import type { Settlement } from '../link.ts';
import type { Outcome } from '../outcome.ts';

type OfKind<Kind extends Outcome['kind']> = Extract<Outcome, { readonly kind: Kind }>;

/** Returns the outcome of a proposal, which has one of these kinds. */
export function outcomeOf<Kind extends Outcome['kind']>(settlement: Settlement, kinds: readonly Kind[]): OfKind<Kind> {
  assert(settlement.kind === 'outcome', 'A proposal is answered by an outcome', settlement.kind);
  const { outcome } = settlement;
  assert(isOfKind(outcome, kinds), 'A proposal is answered by an outcome of its kind', [outcome.kind, kinds]);
  return outcome;
}

function isOfKind<Kind extends Outcome['kind']>(outcome: Outcome, kinds: readonly Kind[]): outcome is OfKind<Kind> {
  return kinds.some((kind) => kind === outcome.kind);
}

export function readRevision(settlement: Settlement): Revision {
  assert(settlement.kind === 'read', 'A read is answered by a revision', settlement.kind);
  return settlement.revision;
}
