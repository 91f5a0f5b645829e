/** The log of a database for decisions: reads on this node, and forwarding to the leader. */
import type { Binding, TransactOutcome } from '#cluster';
import type { DecisionLog } from '#components';
import { encodeTransactPayload, type TransactPayload } from '#model';
import type { Traced } from '#observability';
import type { ServiceContext } from '../context.ts';
import { revisionNotFound } from '../errors.ts';
import { refusalBy, scopeOf } from '../instance.ts';
import { proposing } from '../proposing.ts';
import { latestRevision, waitForRevision } from '../read-scope.ts';
import { countTransaction } from '../transact.ts';

export interface LogOptions extends Traced {
  readonly requireLeader: boolean;
  readonly signal: AbortSignal;
  /** Called with the first outcome of this instance. */
  readonly onOutcome: () => void;
}

export function decisionLog(context: ServiceContext, binding: Binding, options: LogOptions): DecisionLog {
  const { node } = context;
  return {
    applied: () => node.readable(binding.group),
    newest: async (atLeast) => {
      const latest = await latestRevision(node, binding);
      options.signal.throwIfAborted();
      if (latest < atLeast) throw revisionNotFound(scopeOf({ binding, revision: latest }), atLeast);
      return latest;
    },
    commit: async (transaction) => {
      // After a cancellation nothing is answered and nothing is done.
      options.signal.throwIfAborted();
      const outcome = await propose(context, binding, transaction, options);
      options.onOutcome();
      await waitForRevision(context, { signal: options.signal, binding, revision: outcome.revision });
      return outcome;
    },
  };
}

async function propose(
  context: ServiceContext,
  binding: Binding,
  transaction: TransactPayload,
  { requireLeader, span }: LogOptions,
): Promise<TransactOutcome> {
  const { origin, events } = transaction;
  const eventBytes = events.reduce((sum, { length }) => sum + length, 0);
  const counted = { origin, constraints: transaction.constraints, eventCount: events.length, eventBytes };
  const payload = encodeTransactPayload(transaction);
  try {
    const outcome = await proposing(context, binding, payload, { requireLeader, span });
    countTransaction(context, counted, outcome);
    return outcome;
  } catch (failure) {
    countTransaction(context, counted, undefined);
    throw refusalBy(binding, failure);
  }
}
