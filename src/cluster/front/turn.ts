/**
 * Collects what the front sends to the core in one turn of the event loop, in one message, and resolves each caller's
 * promise when the core's report settles it.
 */
import { assert, type GroupId, type Revision } from '#base';
import type { Commands, CreateRequest, Proposal, ReadRequest, Settlement, Token } from '../link.ts';
import type { Outcome } from '../outcome.ts';

/** Collects the commands of one turn. */
export class Turn implements Commands {
  readonly proposals: Proposal[] = [];
  readonly creates: CreateRequest[] = [];
  readonly reads: ReadRequest[] = [];
  /** Later reads of a group share the one of the same turn, because the message is not sent yet. */
  sharedReads: Map<GroupId, Promise<Revision>> | undefined;
  shown = 0;
  follows = false;

  get isEmpty(): boolean {
    return this.proposals.length + this.creates.length + this.reads.length + this.shown === 0;
  }
}

/** A request that the core has not answered. */
export interface Pending {
  readonly kind: 'proposal' | 'read';
  readonly startedMs: number;
  readonly settle: (settlement: Settlement) => void;
  readonly onAdmitted?: (() => void) | undefined;
}

/** A request to send, and the conversion of its settlement to an answer. */
export interface Asked<Answer> {
  readonly add: (token: Token) => void;
  readonly answer: (settlement: Settlement) => Answer;
  readonly onAdmitted?: (() => void) | undefined;
}

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
