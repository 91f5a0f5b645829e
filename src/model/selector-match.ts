/**
 * Matches a selector on an event's bytes and facts, without building strings.
 */
import { encodeUtf8, hasBytesAt, unreachable } from '#base';
import { type EventFacts, EventSpans } from './event-spans.ts';
import { isCompound, isTerm, type Selector, type TermSelector } from './selector.ts';

/** `bytes` are those that the facts point into. */
export type Matcher = (bytes: Uint8Array, facts: EventFacts) => boolean;

/** Build it once for many events. */
export function matcherOf(selector: Selector): Matcher {
  if (isTerm(selector)) return termMatcher(selector);
  if (isCompound(selector)) {
    const matchers = selector.selectors.map(matcherOf);
    return selector.kind === 'and'
      ? (bytes, facts) => matchers.every((matches) => matches(bytes, facts))
      : (bytes, facts) => matchers.some((matches) => matches(bytes, facts));
  }
  return selector.kind === 'all' ? () => true : (_bytes, facts) => facts.subjectStart === -1;
}

/** A matcher of stored events `[from, to)` that computes the facts of each. */
export function storedMatcherOf(selector: Selector): (bytes: Uint8Array, from: number, to: number) => boolean {
  const matches = matcherOf(selector);
  const spans = new EventSpans();
  return (bytes, from, to) => {
    spans.read(bytes, from, to);
    spans.placeStream(bytes);
    return matches(bytes, spans);
  };
}

function termMatcher(selector: TermSelector): Matcher {
  const wanted = encodeUtf8(selector.value);
  switch (selector.kind) {
    case 'by-stream':
      return (bytes, { streamStart, streamEnd }) => equals(bytes, [streamStart, streamEnd], wanted);
    case 'by-stream-prefix':
      return (bytes, { streamStart, streamEnd }) => startsWith(bytes, [streamStart, streamEnd], wanted);
    case 'by-type':
      return (bytes, { typeStart, typeEnd }) => equals(bytes, [typeStart, typeEnd], wanted);
    case 'by-type-prefix':
      return (bytes, { typeStart, typeEnd }) => startsWith(bytes, [typeStart, typeEnd], wanted);
    case 'by-subject':
      return (bytes, { subjectStart, subjectEnd }) => equals(bytes, [subjectStart, subjectEnd], wanted);
    case 'by-subject-prefix':
      return (bytes, { subjectStart, subjectEnd }) => startsWith(bytes, [subjectStart, subjectEnd], wanted);
    case 'by-source':
      return (bytes, { sourceStart, sourceEnd }) => equals(bytes, [sourceStart, sourceEnd], wanted);
    default:
      return unreachable(selector.kind);
  }
}

type Range = readonly [from: number, to: number];

/** An absent attribute (from −1) equals nothing. */
function equals(bytes: Uint8Array, [from, to]: Range, wanted: Uint8Array): boolean {
  return from !== -1 && to - from === wanted.length && hasBytesAt(bytes, from, wanted);
}

/** An absent attribute starts with nothing, not even with the empty text. */
function startsWith(bytes: Uint8Array, [from, to]: Range, wanted: Uint8Array): boolean {
  return from !== -1 && to - from >= wanted.length && hasBytesAt(bytes, from, wanted);
}
