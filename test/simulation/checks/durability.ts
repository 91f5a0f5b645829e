/** Check 13: every transaction that was acknowledged is in the log that is left in the end, as it was acknowledged. */
import { type Check, forInstances, isSame, shown } from './check.ts';
import { type Acknowledgement, type Instance, label } from './evidence.ts';

export const acknowledgedIsKept: Check = (evidence) =>
  forInstances(evidence, (instance) => instance.acknowledgements.flatMap((each) => faultInKept(instance, each) ?? []));

/** What is wrong with how an instance has in the end what was acknowledged; nothing is said of one that was deleted. */
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
