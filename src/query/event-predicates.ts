/** Predicates on the bytes of an event: whether a selector matches it; and its effective time. */
import { type Instant, instantFromMs } from '#base';
import type { StoredEvent } from '#database';
import { eventFacts, type Selector, storedMatcherOf } from '#model';
import type { PassingEvent } from './passing-event.ts';

export type EventTest = (event: StoredEvent) => boolean;
export type PassingTest = (event: PassingEvent) => boolean;

/** Absent for a selector of every event. */
export function testOf(selector: Selector): EventTest | undefined {
  if (selector.kind === 'all') return undefined;
  const matches = storedMatcherOf(selector);
  return ({ bytes }) => matches(bytes, 0, bytes.length);
}

/** The same test for an event in place. */
export function passingTestOf(selector: Selector): PassingTest | undefined {
  if (selector.kind === 'all') return undefined;
  const matches = storedMatcherOf(selector);
  return ({ bytes, from, to }) => matches(bytes, from, to);
}

/** Its own time, or the recorded time when it has none. */
export function effectiveTimeOf(event: StoredEvent): Instant {
  const { bytes } = event;
  const { hasTime, seconds, nanos } = eventFacts(bytes, 0, bytes.length);
  return hasTime ? { seconds, nanos } : instantFromMs(event.recordedTimeMs);
}
