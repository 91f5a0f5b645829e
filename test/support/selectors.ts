/** Random selectors over a few values, so that they often match, and a simple evaluation of them for an `Event`. */
import * as fc from 'fast-check';
import { ALL, and, type Event, NO_SUBJECT, or, type Selector, streamOfSource, type TermKind, term } from '#model';
import { matches } from './naive-constraints.ts';

const STREAMS = ['a', 'ab', 'b'];
const TYPES = ['t', 't.x', 'u'];
const SUBJECTS = ['s', 's/1', 'é'];
const SOURCES = ['a', '/x/a', '/x/ab', 'b/'];

const termOf = (kind: TermKind, values: readonly string[]): fc.Arbitrary<Selector> =>
  fc.constantFrom(...values).map((value) => term(kind, value));

const arbTerm: fc.Arbitrary<Selector> = fc.oneof(
  termOf('by-stream', STREAMS),
  termOf('by-stream-prefix', ['', 'a', 'ab', 'z']),
  termOf('by-type', TYPES),
  termOf('by-type-prefix', ['', 't', 't.', 'z']),
  termOf('by-subject', SUBJECTS),
  termOf('by-subject-prefix', ['', 's', 's/', 'é']),
  termOf('by-source', [...SOURCES, 'urn:']),
  fc.constant(NO_SUBJECT),
  fc.constant(ALL),
);

export const arbSelector: fc.Arbitrary<Selector> = fc.letrec<{ node: Selector }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    arbTerm,
    fc.array(tie('node'), { maxLength: 3 }).map((parts) => and(parts)),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((parts) => or(parts)),
  ),
})).node;

/** Random attributes that these selectors may match. */
export const arbSelectable: fc.Arbitrary<Pick<Event, 'source' | 'type' | 'subject'>> = fc.record({
  source: fc.constantFrom(...SOURCES),
  type: fc.constantFrom(...TYPES),
  subject: fc.constantFrom(...SUBJECTS, undefined),
});

/** True when the selector matches the event. */
export function naivelyMatches(selector: Selector, event: Pick<Event, 'source' | 'type' | 'subject'>): boolean {
  return matches(selector, { ...event, stream: streamOfSource(event.source) ?? '' });
}
