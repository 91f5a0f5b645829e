/** Check 13: every acknowledged transaction is in the final log, as it was acknowledged. */
import { type Check, forInstances, isSame, shown } from './check.ts';
import { type Acknowledgement, type Instance, label } from './evidence.ts';

export const acknowledgedIsKept: Check = (evidence) =>
  forInstances(evidence, (instance) => instance.acknowledgements.flatMap((each) => faultInKept(instance, each) ?? []));

/** The difference between an acknowledged transaction and the final one; undefined for a deleted instance. */
export function faultInKept(
  { final, model }: Pick<Instance, 'final' | 'model'>,
  { operation, recorded }: Acknowledgement,
): string | undefined {
  if (final === undefined) return undefined;
  const { revision, transactionId, recordedTimeMs, basis, storedIds } = recorded;
  const kept = final.transactions[revision - 1];
  if (kept === undefined) return `${label(operation)} was acknowledged as revision ${revision}, which is lost`;
  const expected = {
    transactionId: kept.transactionId,
    recordedTimeMs: kept.recordedTimeMs,
    basis: revision - 1,
    storedIds: model.eventsOf(revision).map(({ id }) => id),
  };
  const told = { transactionId, recordedTimeMs, basis, storedIds };
  if (isSame(expected, told)) return undefined;
  return `${label(operation)} was acknowledged as ${shown(told)}, and the log has ${shown(expected)}`;
}
