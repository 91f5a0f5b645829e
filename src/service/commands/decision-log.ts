/** The log of a database for decisions: reads on this node, and forwarding to the leader. */
import type { Binding } from '#cluster';
import type { DecisionLog } from '#components';
import type { Traced } from '#observability';
import type { ServiceContext } from '../context.ts';
import { revisionNotFound } from '../errors.ts';
import { scopeOf } from '../instance.ts';
import { proposing } from '../proposing.ts';
import { latestRevision, waitForRevision } from '../read-scope.ts';

/** `onOutcome` is called with the first outcome of this instance. */
export function decisionLog(
  context: ServiceContext,
  binding: Binding,
  { requireLeader, signal, span }: Traced & { readonly requireLeader: boolean; readonly signal: AbortSignal },
  onOutcome: () => void,
): DecisionLog {
  const { node } = context;
  return {
    applied: () => node.readable(binding.group),
    newest: async (atLeast) => {
      const latest = await latestRevision(node, binding);
      signal.throwIfAborted();
      if (latest < atLeast) throw revisionNotFound(scopeOf({ binding, revision: latest }), atLeast);
      return latest;
    },
    commit: async (transaction) => {
      // After a cancellation nothing is answered and nothing is done.
      signal.throwIfAborted();
      const eventBytes = transaction.events.reduce((sum, { length }) => sum + length, 0);
      const outcome = await proposing(
        context,
        binding,
        { transaction, eventBytes, requireLeader, span },
        (each) => each,
      );
      onOutcome();
      await waitForRevision(context, { signal, binding, revision: outcome.revision });
      return outcome;
    },
  };
}
