/** A time that a request must name. */
import type { Instant } from '#base';
import { Faults, instantOfTimestamp, type SentTimestamp, showTimestamp, TIMESTAMP_RULE } from '#model';

/** @throws DatabaseError invalid_argument: it is missing or not a valid time */
export function sentInstant(timestamp: SentTimestamp | undefined, field: string): Instant {
  const faults = new Faults();
  if (timestamp === undefined) faults.add(field, 'is required');
  else {
    const instant = instantOfTimestamp(timestamp);
    if (instant !== undefined) return instant;
    faults.add(field, TIMESTAMP_RULE, showTimestamp(timestamp));
  }
  throw faults.toError('The request is malformed');
}
