/** Converts settlements of the core to answers of the node: each request has an outcome of its kind. */
import { assert, type Revision } from '#base';
import type { Settlement } from '../link.ts';
import type {
  CreateOutcome,
  DefinitionOutcome,
  DeleteOutcome,
  KeyOutcome,
  Outcome,
  TransactOutcome,
} from '../outcome.ts';

export function transactOutcome(settlement: Settlement): TransactOutcome {
  const outcome = outcomeOf(settlement);
  assert(isTransactOutcome(outcome), 'A transaction is answered as one', outcome);
  return outcome;
}

function isTransactOutcome(outcome: Outcome): outcome is TransactOutcome {
  const { kind } = outcome;
  return kind === 'committed' || kind === 'replayed' || kind === 'violated' || kind === 'too-broad';
}

export function definitionOutcome(settlement: Settlement): DefinitionOutcome {
  const answered = outcomeOf(settlement);
  assert(answered.kind === 'definition', 'An entry that defines something is answered as one', answered);
  return answered.outcome;
}

export function keyOutcome(settlement: Settlement): KeyOutcome {
  const outcome = outcomeOf(settlement);
  assert(isKeyOutcome(outcome), 'A change of an API key is answered as one', outcome.kind);
  return outcome;
}

function isKeyOutcome(outcome: Outcome): outcome is KeyOutcome {
  const { kind } = outcome;
  return kind === 'key-kept' || kind === 'key-removed' || kind === 'key-unmoved';
}

export function createOutcome(settlement: Settlement): CreateOutcome {
  const outcome = outcomeOf(settlement);
  assert(outcome.kind === 'created' || outcome.kind === 'exists', 'A create is answered as one', outcome);
  return outcome;
}

export function deleteOutcome(settlement: Settlement): DeleteOutcome {
  const outcome = outcomeOf(settlement);
  assert(outcome.kind === 'deleted' || outcome.kind === 'absent', 'A delete is answered as one', outcome);
  return outcome;
}

function outcomeOf(settlement: Settlement): Outcome {
  assert(settlement.kind === 'outcome', 'A proposal is answered by an outcome', settlement.kind);
  return settlement.outcome;
}

export function readRevision(settlement: Settlement): Revision {
  assert(settlement.kind === 'read', 'A read is answered by a revision', settlement.kind);
  return settlement.revision;
}
