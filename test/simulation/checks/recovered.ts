/**
 * Check 14: a recovered instance has every transaction that the instance before it had acknowledged up to the revision
 * that somebody has accepted, as it was acknowledged.
 */
import { type Check } from './check.ts';
import { faultInKept } from './durability.ts';

export const recoveredIsKept: Check = ({ history, instances }) =>
  history.recoveries.flatMap(({ before, databaseId, revision }) => {
    const next = instances.get(databaseId);
    const accepted = instances.get(before)?.acknowledgements.filter(({ recorded }) => recorded.revision <= revision);
    return next === undefined ? [] : (accepted ?? []).flatMap((each) => faultInKept(next, each) ?? []);
  });
