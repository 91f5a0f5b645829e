/**
 * Check 10: recorded time never decreases within a database, and `created_at` is the time in the id of the instance.
 */
import { type Check, forInstances } from './check.ts';

const TIME_DIGITS = 12;

export const timesNeverGoBack: Check = (evidence) =>
  forInstances(evidence, ({ final, databaseId }) => {
    if (final === undefined) return [];
    const { rootId = databaseId } = final;
    const mintedMs = Number.parseInt(rootId.replaceAll('-', '').slice(0, TIME_DIGITS), 16);
    const faults = final.createdAtMs === mintedMs ? [] : [`created at ${final.createdAtMs}, by its id at ${mintedMs}`];
    let beforeMs = final.createdAtMs;
    for (const { revision, recordedTimeMs } of final.transactions) {
      if (recordedTimeMs < beforeMs)
        faults.push(`revision ${revision} is recorded ${beforeMs - recordedTimeMs} ms before the one below it`);
      beforeMs = recordedTimeMs;
    }
    return faults;
  });
