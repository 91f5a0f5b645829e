// Checks 5 and 6: a transaction takes effect once, regardless of its attempts, and never after a definite failure. All
// its successful answers are equal, and at most one of them is not marked as replayed.
import { type Check, forInstances, isSame, shown } from './check.ts';
import { label, type Recorded } from './evidence.ts';

export const transactionsCountOnce: Check = (evidence) =>
  forInstances(evidence, ({ final, acknowledgements }) => {
    const faults: string[] = [];
    const recordedAt = new Map<string, number>();
    for (const { transactionId, revision } of final?.transactions ?? []) {
      const earlier = recordedAt.get(transactionId);
      if (earlier !== undefined) faults.push(`${transactionId} has the revisions ${earlier} and ${revision}`);
      recordedAt.set(transactionId, revision);
    }
    const first = new Map<string, Recorded>();
    const fresh = new Map<string, string>();
    for (const { operation, recorded } of acknowledgements) {
      const { transactionId, replayed } = recorded;
      if (transactionId !== operation.request.transactionId) faults.push(`${label(operation)} is answered for another`);
      const other = first.get(transactionId) ?? recorded;
      first.set(transactionId, other);
      if (!isSame(resultOf(other), resultOf(recorded))) {
        faults.push(
          `${label(operation)} answers ${shown(resultOf(recorded))} where another answer was ${shown(resultOf(other))}`,
        );
      }
      if (replayed) continue;
      const one = fresh.get(transactionId);
      if (one !== undefined) faults.push(`${one} and ${label(operation)} both committed ${transactionId}`);
      fresh.set(transactionId, label(operation));
    }
    return faults;
  });

/**
 * Every stored transaction has an attempt without a definite failure. Attempts that were sent after its revision was
 * known do not count.
 */
export const definiteFailuresLeaveNothing: Check = (evidence) =>
  forInstances(evidence, (instance) =>
    (instance.final?.transactions ?? []).flatMap(({ revision, transactionId }) => {
      const attempts = (evidence.attempts.get(transactionId) ?? []).filter(
        ({ request, invokedUs }) => request.name === instance.final?.name && instance.floor(invokedUs) < revision,
      );
      const mayBe = attempts.some(
        ({ outcome, isDoubled }) =>
          isDoubled ||
          outcome.kind === 'unknown' ||
          (outcome.kind === 'error' && !outcome.isDefinite) ||
          (outcome.kind === 'ok' && outcome.value.kind === 'recorded'),
      );
      return mayBe
        ? []
        : [`revision ${revision} holds ${transactionId}, of which every attempt before failed for sure`];
    }),
  );

function resultOf({ revision, basis, recordedTimeMs, storedIds }: Recorded): unknown {
  return { revision, basis, recordedTimeMs, storedIds };
}
