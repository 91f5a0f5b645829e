/**
 * What an event's own bytes say: whether a selector matches it, and when it took effect.
 */
import { type Instant, instantFromMs } from '#base';
import type { StoredEvent } from '#database';
import { type EventFacts, eventFacts, matcherOf, type Selector } from '#model';

export type EventTest = (event: StoredEvent) => boolean;

/** Absent for the selector of every event. */
export function testOf(selector: Selector): EventTest | undefined {
  if (selector.kind === 'all') return undefined;
  const matches = matcherOf(selector);
  return (event) => matches(event.bytes, factsOf(event));
}

/** Its time, or the time it was recorded when it has none of its own. */
export function effectiveTimeOf(event: StoredEvent): Instant {
  const { hasTime, seconds, nanos } = factsOf(event);
  return hasTime ? { seconds, nanos } : instantFromMs(event.recordedTimeMs);
}

function factsOf({ bytes }: StoredEvent): EventFacts {
  return eventFacts(bytes, 0, bytes.length);
}
