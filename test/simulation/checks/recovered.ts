// Check 14: a recovered instance has every transaction that the previous instance acknowledged up to the accepted
// revision, as it was acknowledged, and beyond that as far as the log of the replica had it. After a cluster was
// founded again from the remains of another one, no answer comes from before.
import { type Check } from './check.ts';
import { faultInKept } from './durability.ts';
import { label, scopesOf } from './evidence.ts';

export const recoveredIsKept: Check = ({ history, instances }) =>
  history.recoveries.flatMap(({ before, databaseId, revision, held }) => {
    const next = instances.get(databaseId);
    const accepted = instances
      .get(before)
      ?.acknowledgements.filter(
        ({ recorded }) => recorded.revision <= revision || held?.has(recorded.transactionId) === true,
      );
    return next === undefined ? [] : (accepted ?? []).flatMap((each) => faultInKept(next, each) ?? []);
  });

export const whatWasBeforeIsSilent: Check = ({ history }) =>
  history.refoundings.flatMap(({ endedUs, beganUs }) => {
    const before = new Set(
      history.operations
        .filter(({ returnedUs }) => returnedUs < endedUs)
        .flatMap((operation) => scopesOf(operation).map(({ databaseId }) => databaseId)),
    );
    const answers = history.operations
      .filter(({ invokedUs }) => invokedUs > beganUs)
      .flatMap((operation) =>
        scopesOf(operation)
          .filter(({ databaseId }) => before.has(databaseId))
          .map(({ databaseId }) => `${label(operation)} is answered from ${databaseId}, of the cluster before`),
      );
    const subscriptions = history.subscriptions
      .filter(({ invokedUs, scope }) => invokedUs > beganUs && scope !== undefined && before.has(scope.databaseId))
      .map(({ number, client }) => `subscription #${number} of ${client} begins in the cluster before`);
    return [...answers, ...subscriptions];
  });
