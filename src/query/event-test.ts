/**
 * What an event's own bytes say: whether a selector matches it, and when it took effect.
 */
import { type Instant, instantFromMs } from '#base';
import type { StoredEvent } from '#database';
import { eventFacts, type Selector, storedMatcherOf } from '#model';
import type { PassingEvent } from './passing-event.ts';

export type EventTest = (event: StoredEvent) => boolean;
export type PassingTest = (event: PassingEvent) => boolean;

/** Absent for the selector of every event. */
export function testOf(selector: Selector): EventTest | undefined {
  if (selector.kind === 'all') return undefined;
  const matches = storedMatcherOf(selector);
  return ({ bytes }) => matches(bytes, 0, bytes.length);
}

/** The same, of an event where it lies. */
export function passingTestOf(selector: Selector): PassingTest | undefined {
  if (selector.kind === 'all') return undefined;
  const matches = storedMatcherOf(selector);
  return ({ bytes, from, to }) => matches(bytes, from, to);
}

/** Its time, or the time it was recorded when it has none of its own. */
export function effectiveTimeOf(event: StoredEvent): Instant {
  const { bytes } = event;
  const { hasTime, seconds, nanos } = eventFacts(bytes, 0, bytes.length);
  return hasTime ? { seconds, nanos } : instantFromMs(event.recordedTimeMs);
}
