// Check 16: a database at a recorded time has every revision up to that time and no later one. For the present or a
// future time on the clock of the answering node, it is the latest revision, regardless of the clocks that recorded the
// revisions (ADR 0009). Clients do not know these clocks, so any answer that is at least as new as the known revisions
// is accepted.
import type { Check } from './check.ts';
import { label } from './evidence.ts';

export const pastTimesHaveTheirRevision: Check = ({ history, instances }) =>
  history.of('asOf').flatMap((operation) => {
    const { outcome, request, invokedUs } = operation;
    if (outcome.kind !== 'ok') return [];
    const { databaseId, revision } = outcome.value;
    const instance = instances.get(databaseId);
    if (instance?.final === undefined) return [];
    const isLatest = revision >= instance.floor(invokedUs);
    const wanted = instance.final.transactions.findLast((each) => each.recordedTimeMs <= request.timeMs)?.revision ?? 0;
    return isLatest || revision === wanted
      ? []
      : [`${label(operation)} answers revision ${revision} for ${request.timeMs}, when ${wanted} was the latest`];
  });
