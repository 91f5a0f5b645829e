// Checks 2 and 3: the order of revisions respects real time. A transaction that was first sent after a client knew a
// revision gets a higher one; a latest read is not older than anything known before it; and a revision is not known
// before its transaction was sent.
import type { AnyOperation, ReadRequest, Scope } from '../history.ts';
import { type Check, forInstances } from './check.ts';
import { type Instance, label } from './evidence.ts';

export const writesFollowWhatWasSeen: Check = (evidence) =>
  forInstances(evidence, (instance) =>
    committed(instance).flatMap(({ revision, transactionId }) => {
      const floor = instance.floor(evidence.firstInvokedUs(transactionId));
      return floor < revision
        ? []
        : [`revision ${revision} was first sent when revision ${floor} had been seen (${transactionId})`];
    }),
  );

export const nothingIsSeenTooEarly: Check = (evidence) =>
  forInstances(evidence, ({ final, sightings }) => {
    let latestUs = 0;
    const sentUs = [
      0,
      ...(final?.transactions ?? []).map(({ transactionId }) => {
        latestUs = Math.max(latestUs, evidence.firstInvokedUs(transactionId));
        return latestUs;
      }),
    ];
    if (final === undefined) return [];
    return sightings
      .filter(({ atUs, revision }) => (sentUs[revision] ?? Number.POSITIVE_INFINITY) >= atUs)
      .map(({ revision, by }) => `${by} was told of revision ${revision} before all up to it were sent`);
  });

export const latestReadsAreLatest: Check = ({ history, instances }) =>
  history.operations.flatMap((operation) => {
    const { outcome, invokedUs } = operation;
    if (outcome.kind !== 'ok' || !asksForLatest(operation)) return [];
    const { databaseId, revision } = outcome.value as Scope;
    const floor = instances.get(databaseId)?.floor(invokedUs) ?? 0;
    return revision >= floor ? [] : [`${label(operation)} answers revision ${revision} when ${floor} had been seen`];
  });

function committed(instance: Instance): readonly { readonly revision: number; readonly transactionId: string }[] {
  if (instance.final !== undefined) return instance.final.transactions;
  return instance.acknowledgements.map(({ recorded }) => recorded);
}

/** Includes refusals, because constraints are evaluated at the latest state. */
function asksForLatest({ kind, request, outcome }: AnyOperation): boolean {
  if (kind === 'fetch' || kind === 'log') return true;
  if (kind === 'transact')
    return outcome.kind === 'ok' && (outcome.value as { readonly kind: string }).kind === 'refused';
  return 'at' in request && (request as ReadRequest).at === 'latest';
}
