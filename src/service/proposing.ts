/**
 * Proposes a transaction, counts its outcome, and traces it: from the queue of this node to the log of the leader
 * (`cairn.admitted`), and from there to its outcome.
 */
import type { Binding, TransactOptions, TransactOutcome } from '#cluster';
import { encodeTransactPayload, type TransactPayload } from '#model';
import { ending, type Span, type Traced, type TransactionResult } from '#observability';
import type { ServiceContext } from './context.ts';
import { refusalBy } from './instance.ts';

export interface Proposal extends TransactOptions, Traced {
  readonly transaction: TransactPayload;
  /** Size of its events in bytes. */
  readonly eventBytes: number;
}

const RESULTS = {
  committed: 'committed',
  replayed: 'replayed',
  violated: 'conflict',
  'too-broad': 'too_large',
} as const satisfies Record<TransactOutcome['kind'], TransactionResult>;

/** Resolves with the reply to the outcome; rejects with the error for the client. */
export function proposing<Reply>(
  context: ServiceContext,
  binding: Binding,
  proposal: Proposal,
  replyTo: (outcome: TransactOutcome) => Reply | Promise<Reply>,
): Promise<Reply> {
  const { transaction, span, onAdmitted, requireLeader } = proposal;
  const payload = encodeTransactPayload(transaction);
  const options = { onAdmitted, requireLeader };
  const proposed =
    span === undefined
      ? context.node.transact(binding.group, payload, options)
      : transactTraced(context, binding, payload, { ...options, span });
  return proposed.then(
    (outcome) => {
      countOutcome(context, proposal, outcome);
      return replyTo(outcome);
    },
    (failure: unknown) => {
      context.meters.transaction(transaction.origin, 'failed');
      throw refusalBy(binding, failure);
    },
  );
}

async function transactTraced(
  { node }: ServiceContext,
  { group }: Binding,
  payload: Uint8Array,
  options: TransactOptions & { readonly span: Span },
): Promise<TransactOutcome> {
  const span = options.span.child('cairn.propose', 'internal', {
    'cairn.group': group,
    'cairn.payload_bytes': payload.length,
    'cairn.leader': node.leaderOf(group)?.node,
  });
  const onAdmitted = (): void => {
    span.event('cairn.admitted');
    options.onAdmitted?.();
  };
  return ending(span, async () => {
    const outcome = await node.transact(group, payload, { ...options, onAdmitted });
    span.set({ 'cairn.revision': outcome.revision, 'cairn.result': outcome.kind });
    return outcome;
  });
}

function countOutcome(
  { meters }: ServiceContext,
  { transaction, eventBytes }: Proposal,
  outcome: TransactOutcome,
): void {
  const { origin, events, constraints } = transaction;
  meters.transaction(origin, RESULTS[outcome.kind]);
  if (outcome.kind === 'committed') {
    meters.transactionEvents.observe(events.length);
    meters.transactionBytes.observe(eventBytes);
  }
  if (outcome.kind === 'replayed' || outcome.kind === 'too-broad' || constraints.length === 0) return;
  const violated = outcome.kind === 'violated' ? new Set(outcome.violations.map(({ index }) => index)) : undefined;
  let index = 0;
  for (const { kind } of constraints) {
    meters.constraint(kind, violated?.has(index) === true ? 'violated' : 'held');
    index++;
  }
}
