/**
 * Proposes a transaction and traces it: from the queue of this node to the log of the leader (`cairn.admitted`), and
 * from there to its outcome.
 */
import type { Binding, TransactOptions, TransactOutcome } from '#cluster';
import type { Traced } from '#observability';
import type { ServiceContext } from './context.ts';

export function proposing(
  { node }: ServiceContext,
  { group }: Binding,
  payload: Uint8Array,
  options: TransactOptions & Traced,
): Promise<TransactOutcome> {
  if (options.span === undefined) return node.transact(group, payload, options);
  const span = options.span.child('cairn.propose', 'internal', {
    'cairn.group': group,
    'cairn.payload_bytes': payload.length,
    'cairn.leader': node.leaderOf(group)?.node,
  });
  const onAdmitted = (): void => {
    span.event('cairn.admitted');
    options.onAdmitted?.();
  };
  return node.transact(group, payload, { ...options, onAdmitted }).then(
    (outcome) => {
      span.set({ 'cairn.revision': outcome.revision, 'cairn.result': outcome.kind });
      span.end();
      return outcome;
    },
    (failure: unknown) => {
      span.fail(failure);
      span.end();
      throw failure;
    },
  );
}
