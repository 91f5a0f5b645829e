// Goal: a selector, its disjunctive form and its bytes match the same events, in any order and nesting (M6). Method:
// random selectors and events, a naive oracle, shuffled spellings.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes } from '#base';
import {
  ALL,
  and,
  type Conjunction,
  encodeSelector,
  eventFacts,
  Faults,
  matcherOf,
  normalise,
  or,
  type Selector,
  storedMatcherOf,
  streamOfSource,
  type TextMatch,
} from '#model';
import { type SubjectMatch } from '../../../src/model/selector-normal.ts';
import { decodeSelector } from '../../../src/model/selector-wire.ts';
import { anEvent, eventBytes } from '../../support/events.ts';
import { runs } from '../../support/runs.ts';
import { arbSelectable, arbSelector, naivelyMatches } from '../../support/selectors.ts';

type Selectable = Parameters<typeof naivelyMatches>[1];

function matchesBytes(selector: Selector, event: Selectable): boolean {
  const bytes = eventBytes(anEvent(event));
  return matcherOf(selector)(bytes, eventFacts(bytes, 0, bytes.length));
}

function textMatches(match: SubjectMatch | undefined, text: string | undefined): boolean {
  if (match === undefined) return true;
  if (match.kind === 'none') return text === undefined;
  return match.kind === 'equals' ? text === match.value : (text?.startsWith(match.value) ?? false);
}

function conjunctionMatches(conjunction: Conjunction, event: Selectable): boolean {
  return (
    textMatches(conjunction.stream, streamOfSource(event.source)) &&
    textMatches(conjunction.type, event.type) &&
    textMatches(conjunction.subject, event.subject) &&
    (conjunction.source === undefined || conjunction.source === event.source)
  );
}

function respell(selector: Selector, random: () => number): Selector {
  if (selector.kind !== 'and' && selector.kind !== 'or') return random() % 2 === 0 ? and([selector, ALL]) : selector;
  const parts = selector.selectors.map((part) => respell(part, random));
  const shuffled = parts.toSorted(() => (random() % 2 === 0 ? 1 : -1));
  const build = selector.kind === 'and' ? and : or;
  const half = random() % shuffled.length;
  const nested = half === 0 ? shuffled : [build(shuffled.slice(0, half)), ...shuffled.slice(half)];
  return build([...nested, ...shuffled.slice(0, 1)]);
}

function decoded(bytes: Uint8Array): Selector | undefined {
  const faults = new Faults();
  const selector = decodeSelector(bytes, 'selector', faults);
  faults.throwIfAny('The selector is refused');
  return selector;
}

it('a matcher of stored events, which reads them in place, agrees with the selector', () => {
  let matched = 0;
  fc.assert(
    fc.property(arbSelector, fc.array(arbSelectable, { minLength: 1, maxLength: 8 }), (selector, events) => {
      const stored = events.map((event) => eventBytes(anEvent(event)));
      const page = concatBytes(stored.flatMap((bytes) => [Uint8Array.of(0x7a, bytes.length), bytes]));
      const matches = storedMatcherOf(selector);
      let from = 0;
      const found = stored.map((bytes) => {
        const start = from + 2;
        from = start + bytes.length;
        return matches(page, start, from);
      });
      expect(found).toEqual(events.map((event) => naivelyMatches(selector, event)));
      matched += found.filter((isMatch) => isMatch).length;
    }),
    { numRuns: runs(500) },
  );
  expect(matched).toBeGreaterThan(100);
});

describe('a selector (M6)', () => {
  it('matches the right events', () => {
    fc.assert(
      fc.property(arbSelector, arbSelectable, (selector, event) => {
        expect(matchesBytes(selector, event)).toBe(naivelyMatches(selector, event));
      }),
      { numRuns: runs(3000) },
    );
  });

  it('matches the same events as its disjunctive form', () => {
    fc.assert(
      fc.property(arbSelector, arbSelectable, (selector, event) => {
        const alternatives = normalise(selector);
        const matched = alternatives.some((conjunction) => conjunctionMatches(conjunction, event));
        expect(matched).toBe(naivelyMatches(selector, event));
      }),
      { numRuns: runs(3000) },
    );
  });

  it('has a disjunctive form in which a source has its stream, and no alternative is redundant', () => {
    fc.assert(
      fc.property(arbSelector, (selector) => {
        const alternatives = normalise(selector);
        const wanted = alternatives.map(({ source }): TextMatch | undefined =>
          source === undefined ? undefined : { kind: 'equals', value: streamOfSource(source) ?? '' },
        );
        expect(alternatives.map(({ source, stream }) => (source === undefined ? undefined : stream))).toEqual(wanted);
        expect(new Set(alternatives.map((one) => JSON.stringify(one))).size).toBe(alternatives.length);
        const everything = alternatives.filter((one) => Object.keys(one).length === 0);
        expect([0, alternatives.length]).toContain(everything.length);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('survives encoding and decoding, which consumes all bytes', () => {
    fc.assert(
      fc.property(arbSelector, (selector) => {
        const bytes = encodeSelector(selector);
        expect(decoded(bytes)).toEqual(selector);
        expect(encodeSelector(decoded(bytes) ?? ALL)).toEqual(bytes);
        expect(bytes.length === 0).toBe(selector.kind === 'all');
      }),
      { numRuns: runs(1000) },
    );
  });

  it('is deeply equal however it is spelled', () => {
    fc.assert(
      fc.property(arbSelector, fc.array(fc.nat(99), { minLength: 1, maxLength: 50 }), (selector, numbers) => {
        let drawn = 0;
        const random = (): number => numbers[drawn++ % numbers.length] ?? 0;
        expect(respell(selector, random)).toEqual(selector);
      }),
      { numRuns: runs(1000) },
    );
  });
});
