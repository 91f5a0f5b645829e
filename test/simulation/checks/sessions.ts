// Check 8: `cached` reads of one connection never go back, and a read with a minimum revision is answered at or above
// it.
import type { ReadRequest, Scope } from '../history.ts';
import { type Check } from './check.ts';
import { label } from './evidence.ts';

export const sessionsNeverGoBack: Check = ({ history }) => {
  const seen = new Map<string, { readonly returnedUs: number; readonly revision: number; readonly by: string }[]>();
  return history.operations.flatMap((operation) => {
    const { outcome, request, session, invokedUs, returnedUs } = operation;
    if (outcome.kind !== 'ok' || session === undefined || !('at' in request) || request.at !== 'cached') return [];
    const { databaseId, revision } = outcome.value as Scope;
    const key = `${session} ${databaseId}`;
    const earlier = seen.get(key) ?? [];
    seen.set(key, [...earlier, { returnedUs, revision, by: label(operation) }]);
    return earlier
      .filter((other) => other.returnedUs < invokedUs && other.revision > revision)
      .map((other) => `${label(operation)} shows revision ${revision} after ${other.by} showed ${other.revision}`);
  });
};

export const readsKeepTheirFloor: Check = ({ history }) =>
  history.operations.flatMap((operation) => {
    const { outcome, request } = operation;
    if (outcome.kind !== 'ok' || !('at' in request) || typeof request.at === 'number') return [];
    const { minRevision = 0 } = request as ReadRequest;
    const { revision } = outcome.value as Scope;
    // A confirmed latest read may be below the floor only when it names another instance.
    return revision >= minRevision || request.at === 'latest'
      ? []
      : [`${label(operation)} answers revision ${revision}, below its floor ${minRevision}`];
  });
