/** The order of effective time, as the database has it: that of `time`, or of the recorded time where there is none. */
import { type Instant, instantOf } from '../src/event.ts';
import type { StoredEvent } from '../src/index.ts';

/**
 * What had happened by the cut, that instant included, in the order in which it happened; what happened at the same
 * instant stays in the order in which it was stored.
 */
export function happenedBy(events: readonly StoredEvent[], cut: string): readonly StoredEvent[] {
  const end = instantIn(cut);
  return events
    .map((event) => ({ event, at: instantIn(event.time ?? event.recordedtime) }))
    .filter(({ at }) => compared(at, end) <= 0)
    .toSorted((one, other) => compared(one.at, other.at))
    .map(({ event }) => event);
}

function compared(one: Instant, other: Instant): number {
  if (one.seconds !== other.seconds) return one.seconds < other.seconds ? -1 : 1;
  return one.nanoseconds - other.nanoseconds;
}

function instantIn(time: string): Instant {
  const instant = instantOf(time);
  if (instant === undefined) throw new TypeError(`The time ${time} is none; write it like 2026-01-31T09:30:00.123Z`);
  return instant;
}
