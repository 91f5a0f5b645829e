/** Check 12: an answer that something does not exist is correct for a time at which it did not exist. */
import type { AnyOperation, Calls, ReadRequest, Scope } from '../history.ts';
import { type Check } from './check.ts';
import { type Instance, label } from './evidence.ts';
import { findEvent } from './reads.ts';

export const nothingIsDenied: Check = ({ history, instances }) =>
  history.operations.flatMap((operation) => {
    const { outcome, invokedUs } = operation;
    if (outcome.kind !== 'error' || outcome.code !== 'not_found' || outcome.scope === undefined) return [];
    const { scope, reason } = outcome;
    const instance = instances.get(scope.databaseId);
    if (instance === undefined) return [];
    const fault = deniedWrongly(operation, reason, scope, instance);
    const floor = isNumeric(operation) ? 0 : instance.floor(invokedUs);
    const stale = scope.revision < floor ? `judged at ${scope.revision} when ${floor} had been seen` : undefined;
    return [fault, stale]
      .filter((found) => found !== undefined)
      .map((found) => `${label(operation)} ${reason}: ${found}`);
  });

function deniedWrongly(
  { kind, request }: AnyOperation,
  reason: string | undefined,
  { revision }: Scope,
  instance: Instance,
): string | undefined {
  if (kind === 'asOf') {
    const createdAtMs = instance.final?.createdAtMs ?? Number.POSITIVE_INFINITY;
    return request.timeMs < createdAtMs ? undefined : `the instance was there since ${createdAtMs}`;
  }
  if (reason === 'RevisionNotFound') {
    const { at = 0, minRevision = 0 } = request as Partial<ReadRequest>;
    const wanted = Math.max(
      typeof at === 'number' ? at : 0,
      minRevision,
      (request as Partial<Calls['await']['request']>).revision ?? 0,
    );
    return wanted > revision ? undefined : `revision ${wanted} is not above ${revision}`;
  }
  if (!instance.covers(revision)) return undefined;
  if (kind === 'fetch') {
    const { transactionId } = request;
    const recorded = instance.final?.transactions.find((transaction) => transaction.transactionId === transactionId);
    return recorded === undefined || recorded.revision > revision
      ? undefined
      : `it is recorded at ${recorded.revision}`;
  }
  if (kind === 'event') {
    const found = findEvent(instance, revision, request);
    return found === undefined ? undefined : 'the event exists';
  }
  return undefined;
}

/** A read at a numeric revision, or at `cached`, need not know the latest revision. */
function isNumeric({ request, outcome }: AnyOperation): boolean {
  if (outcome.kind === 'error' && outcome.reason === 'RevisionNotFound') return false;
  return 'at' in request && request.at !== 'latest';
}
