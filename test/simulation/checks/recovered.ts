// Check 14: a recovered instance has every transaction that the instance before it had acknowledged up to the revision
// that somebody has accepted, as it was acknowledged, and those that the log of the copy held beyond it. Nobody is
// answered by what was before a cluster that began with what was left of another one.
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
