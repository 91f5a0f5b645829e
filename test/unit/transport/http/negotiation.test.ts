// Of the offered content types the one is taken that an Accept header asks for (ADR 0110), however the header is
// spelled, and in a time that grows with it. Random ranges are checked against a choice that reads no header.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { negotiate } from '../../../../src/transport/http/negotiation.ts';

const OFFERS = ['text/html', 'text/csv;charset=utf-8', 'application/json'];

describe('negotiation', () => {
  it.each<readonly [accept: string | undefined, chosen: string | undefined]>([
    [undefined, 'text/html'],
    ['', 'text/html'],
    [' , ,', 'text/html'],
    ['image/png', undefined],
    ['text/htm', undefined],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['text/html;q=0.5, text/csv;q=0.9, application/json;q=0.7', 'text/csv;charset=utf-8'],
    ['application/json, */*', 'application/json'],
    ['text/html;q=0.1, */*;q=0.2', 'text/csv;charset=utf-8'],
    ['*/*;q=0.000, application/json;q=0.001', 'application/json'],
    ['text/*;q=0, text/csv;q=0.1', 'text/csv;charset=utf-8'],
    ['text/csv ; CHARSET="UTF-8"', 'text/csv;charset=utf-8'],
    ['text/csv;charset=utf-8;header=present', undefined],
    ['application/json;q=0.5;level=1', 'application/json'],
    ['image/png;a="\\", application/json", text/csv', 'text/csv;charset=utf-8'],
    ['text/csv;;q=0.5;', 'text/csv;charset=utf-8'],
  ])('takes for %j %s', (accept, chosen) => {
    const index = negotiate(accept, OFFERS);
    expect(index === undefined ? undefined : OFFERS[index]).toBe(chosen);
  });

  it('passes over what it cannot read', () => {
    const paths =
      '*/json text text/ /html text/html/x täxt/html " text/html;level text/html;level="1 text/html;level="1"x';
    const weights = '*;q=.2 text/html;q=2 text/html;q=-1 text/html;q=0.0001 text/html;q=1.001 text/html;q=';
    for (const unreadable of [...paths.split(' '), ...weights.split(' '), '*; q=.2', 'text/ html']) {
      const taken = [negotiate(unreadable, OFFERS), negotiate(`application/json, ${unreadable}`, OFFERS)];
      expect([unreadable, ...taken]).toEqual([unreadable, undefined, 2]);
    }
  });

  it('has nothing to take where nothing is offered', () => {
    expect([negotiate(undefined, []), negotiate('*/*', [])]).toEqual([undefined, undefined]);
  });

  it.each<readonly [string, string]>([
    ['spaces', `text/html${' '.repeat(100_000)}x`],
    ['a quote without an end', `text/html;a="${'b'.repeat(100_000)}`],
    ['quotes', `text/html;a=${'"'.repeat(100_000)}`],
    ['backslashes', `text/html;a="${'\\'.repeat(100_001)}`],
    ['semicolons', `text/html${';'.repeat(100_000)}x`],
    ['ranges', 'a/b,'.repeat(25_000)],
    ['parameters', `text/html${';a=b'.repeat(25_000)};c`],
  ])('reads a header of 100,000 %s in no time', (_, accept) => {
    const before = performance.now();
    expect(negotiate(accept, OFFERS)).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(500);
  });

  it('takes what the ranges say, however they are spelled', () => {
    fc.assert(
      fc.property(
        fc.array(RANGE, { minLength: 1, maxLength: 6 }),
        OFFERED,
        fc.infiniteStream(SPELLING),
        (ranges, offers, spellings) => {
          const accept = spelled(ranges, spellings);
          expect({ accept, index: negotiate(accept, offers.map(written)) }).toEqual({
            accept,
            index: naively(ranges, offers),
          });
        },
      ),
      { numRuns: 1000 },
    );
  });
});

interface Type {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

interface Range extends Type {
  readonly thousandths: number;
}

/** Few, so that they meet. */
const PARAMETERS = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('1', 'x y', '"', ',;')), {
  maxLength: 2,
  selector: ([name]) => name,
});
const WHOLE = fc.record<Type>({
  type: fc.constantFrom('s', 't'),
  subtype: fc.constantFrom('u', 'v'),
  parameters: PARAMETERS,
});
const WIDE = fc.constantFrom<Type>(
  { type: '*', subtype: '*', parameters: [] },
  { type: 's', subtype: '*', parameters: [] },
);
const RANGE: fc.Arbitrary<Range> = fc
  .tuple(fc.oneof(WHOLE, WIDE), fc.constantFrom(0, 1, 500, 500, 999, 1000, 1000))
  .map(([type, thousandths]) => ({ ...type, thousandths }));
const OFFERED = fc.array(WHOLE, { maxLength: 5 });

interface Spelling {
  readonly space: string;
  readonly isLoud: boolean;
  readonly isQuoted: boolean;
  /** What nobody can read, in front of a range. */
  readonly noise: string;
}

const SPELLING = fc.record<Spelling>({
  space: fc.constantFrom('', ' ', '\t '),
  isLoud: fc.boolean(),
  isQuoted: fc.boolean(),
  noise: fc.constantFrom('', '', ',', '*;q=.2,', 's/,', 's/u;q=7,'),
});

/** Every pair of an offer and a range that takes it in, sorted: no state, and no reading. */
function naively(ranges: readonly Range[], offers: readonly Type[]): number | undefined {
  const chosen = offers.flatMap((offer, index) => {
    const fitting = ranges.filter((range) => takesIn(range, offer));
    const closest = Math.max(...fitting.map(rank));
    const said = fitting.filter((range) => rank(range) === closest).map(({ thousandths }) => thousandths);
    const quality = said.toSorted((one, other) => other - one)[0] ?? 0;
    return quality > 0 ? [{ index, key: quality * 1_000_000 + closest * 1000 - index }] : [];
  });
  return chosen.toSorted((one, other) => other.key - one.key)[0]?.index;
}

function takesIn({ type, subtype, parameters }: Type, offer: Type): boolean {
  const has = ([name, value]: readonly [string, string]): boolean =>
    offer.parameters.some(([known, own]) => known === name && own === value);
  return ['*', offer.type].includes(type) && ['*', offer.subtype].includes(subtype) && parameters.every(has);
}

function rank({ type, subtype, parameters }: Type): number {
  return [type, subtype].filter((part) => part !== '*').length * 10 + parameters.length;
}

function written({ type, subtype, parameters }: Type): string {
  return [`${type}/${subtype}`, ...parameters.map(([name, value]) => `${name}=${quoted(value)}`)].join('; ');
}

function quoted(value: string): string {
  return `"${value.replaceAll('"', '\\"')}"`;
}

function spelled(ranges: readonly Range[], spellings: Iterator<Spelling>): string {
  return ranges.map((range) => spelledRange(range, spellings)).join(',');
}

function spelledRange({ type, subtype, parameters, thousandths }: Range, spellings: Iterator<Spelling>): string {
  const { space, isLoud, isQuoted, noise }: Spelling = spellings.next().value;
  const semicolon = `${space};${space}`;
  const values = parameters.map(([name, value]) => {
    return `${isLoud ? name.toUpperCase() : name}=${isQuoted || value !== '1' ? quoted(value) : value}`;
  });
  const weight = thousandths === 1000 && isQuoted ? [] : [`${isLoud ? 'Q' : 'q'}=${thousandths / 1000}`];
  const essence = isLoud ? `${type}/${subtype}`.toUpperCase() : `${type}/${subtype}`;
  return `${noise}${space}${[essence, ...values, ...weight].join(semicolon)}${space}`;
}
