/** Random selectors over a few values, so that they often meet; and what they mean, said naively over `Event`. */
import * as fc from 'fast-check';
import { ALL, and, type Event, NO_SUBJECT, or, type Selector, streamOfSource, type TermKind, term } from '#model';

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
    fc.array(tie('node'), { maxLength: 3 }).map(and),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map(or),
  ),
})).node;

/** Attributes that the selectors above look at. */
export const arbSelectable: fc.Arbitrary<Pick<Event, 'source' | 'type' | 'subject'>> = fc.record({
  source: fc.constantFrom(...SOURCES),
  type: fc.constantFrom(...TYPES),
  subject: fc.constantFrom(...SUBJECTS, undefined),
});

/** The meaning of each kind in one line. */
export function naivelyMatches(selector: Selector, event: Pick<Event, 'source' | 'type' | 'subject'>): boolean {
  const stream = streamOfSource(event.source) ?? '';
  switch (selector.kind) {
    case 'all':
      return true;
    case 'and':
      return selector.selectors.every((part) => naivelyMatches(part, event));
    case 'or':
      return selector.selectors.some((part) => naivelyMatches(part, event));
    case 'no-subject':
      return event.subject === undefined;
    case 'by-stream':
      return stream === selector.value;
    case 'by-stream-prefix':
      return stream.startsWith(selector.value);
    case 'by-type':
      return event.type === selector.value;
    case 'by-type-prefix':
      return event.type.startsWith(selector.value);
    case 'by-subject':
      return event.subject === selector.value;
    case 'by-subject-prefix':
      return event.subject?.startsWith(selector.value) ?? false;
    case 'by-source':
      return event.source === selector.value;
  }
}
