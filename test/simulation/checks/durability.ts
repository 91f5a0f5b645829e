/** Check 13: every transaction that was acknowledged is in the log that is left in the end, as it was acknowledged. */
import { type Check, forInstances, isSame, shown } from './check.ts';
import { label } from './evidence.ts';

export const acknowledgedIsKept: Check = (evidence) =>
  forInstances(evidence, ({ final, model, acknowledgements }) =>
    acknowledgements.flatMap(({ operation, recorded }) => {
      if (final === undefined) return [];
      const { revision, transactionId, recordedTimeMs, basis, storedIds } = recorded;
      const kept = final.transactions[revision - 1];
      if (kept === undefined) return [`${label(operation)} was acknowledged as revision ${revision}, which is lost`];
      const expected = {
        transactionId: kept.transactionId,
        recordedTimeMs: kept.recordedTimeMs,
        basis: revision - 1,
        storedIds: model.eventsOf(revision).map(({ id }) => id),
      };
      const told = { transactionId, recordedTimeMs, basis, storedIds };
      return isSame(expected, told)
        ? []
        : [`${label(operation)} was acknowledged as ${shown(told)}, and the log has ${shown(expected)}`];
    }),
  );
