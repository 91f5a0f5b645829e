// Check 16: a database as it was at a recorded time has every revision up to that time, and no later one. What is the
// present, or later, on the clock of whoever is asked, is the latest revision, whatever was recorded by other clocks
// (ADR 0009): clients do not know these clocks, so an answer that is not behind what was known is let be.
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
