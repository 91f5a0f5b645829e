/** Times of requests. */
import type { Instant } from '#base';
import { Faults, instantOfTimestamp, type SentTimestamp, showTimestamp, TIMESTAMP_RULE } from '#model';

/** A time that a request must name. @throws DatabaseError invalid_argument: it is missing or not a valid time */
export function sentInstant(timestamp: SentTimestamp | undefined, field: string): Instant {
  const faults = new Faults();
  const instant =
    timestamp === undefined ? faults.add(field, 'is required') : instantFrom(timestamp, { field, faults });
  if (instant !== undefined) return instant;
  throw faults.toError('The request is malformed');
}

/** The time, or undefined with the fault added. */
export function instantFrom(
  timestamp: SentTimestamp,
  { field, faults }: { readonly field: string; readonly faults: Faults },
): Instant | undefined {
  return instantOfTimestamp(timestamp) ?? faults.add(field, TIMESTAMP_RULE, showTimestamp(timestamp));
}
