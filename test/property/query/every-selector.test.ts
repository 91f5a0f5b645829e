// Goal: every kind of selector, alone and combined with every other, finds its events by any plan (Q1, Q5).
// Method: a database whose lists are short, long, inline, chunked, nested in one another and strangers to one another;
// every term, every And and Or of two terms and of an And with a third, in both directions, against a naive filter.
import { beforeAll, describe, expect, it } from 'vitest';
import { and, type Direction, type EventQuery, NO_SUBJECT, or, type Selector, term } from '#model';
import { queryEvents, type StoredEvent } from '#query';
import { CountingReader } from '../../support/counting-reader.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const TRANSACTIONS = 500;

const TERMS: readonly Selector[] = [
  term('by-stream', 'a'),
  term('by-stream', 'ab'),
  term('by-stream', 'rare'),
  term('by-stream', 'none'),
  term('by-stream-prefix', 'a'),
  term('by-type', 't'),
  term('by-type', 'u'),
  term('by-type-prefix', 't'),
  term('by-subject', 's/1'),
  term('by-subject', 's/77'),
  term('by-subject-prefix', 's/1'),
  term('by-subject-prefix', ''),
  term('by-source', '/x/a'),
  term('by-source', 'a'),
  NO_SUBJECT,
];

/** Two events: one of the stream a or ab, mostly with a subject of its own; one that is often the same as another. */
function transaction(n: number): readonly EventSketch[] {
  const source = n % 100 === 7 ? '/y/rare' : n % 3 === 0 ? '/x/a' : n % 3 === 1 ? 'a' : 'z/ab';
  const subject = n % 5 === 0 ? {} : { subject: n % 90 === 1 ? 's/1' : `s/${n}` };
  return [
    { source, type: n % 40 === 0 ? 'u' : 't', ...subject },
    { source: n % 2 === 0 ? '/x/a' : 'z/ab', type: n % 7 === 0 ? 'u' : 't.x', subject: n % 13 === 0 ? 's/1' : 's/2' },
  ];
}

const PAIRS = TERMS.flatMap((left, place) => TERMS.slice(place + 1).map((right) => [left, right] as const));
const ANDS = PAIRS.map((parts) => and(parts));
const ORS = PAIRS.map((parts) => or(parts));
const NESTED = PAIRS.flatMap((pair, place) => {
  const third = place % 7 === 0 ? TERMS[place % TERMS.length] : undefined;
  return third === undefined ? [] : [or([and(pair), third]), and([or(pair), third])];
});

function positionText({ position: { revision, index } }: StoredEvent): string {
  return `${revision}.${index}`;
}

const FAMILIES: readonly (readonly [string, readonly Selector[], number, Pick<EventQuery, 'effectiveTime'>])[] = [
  ['each term', TERMS, TRANSACTIONS, {}],
  ['each term, half way', TERMS, TRANSACTIONS / 2, {}],
  ['the And of any two', ANDS, TRANSACTIONS, {}],
  ['the And of any two, half way', ANDS, TRANSACTIONS / 2, {}],
  ['the And of any two, in the order of effective time', ANDS, TRANSACTIONS, { effectiveTime: {} }],
  ['the Or of any two', ORS, TRANSACTIONS, {}],
  ['an Or of an And and a term, and an And of an Or and a term', NESTED, TRANSACTIONS, {}],
];

describe.each(['forward', 'reverse'] as const)('a query going %s', (direction: Direction) => {
  const store = memoryKv();
  const counted = new CountingReader(store);
  const database = new KnownDatabase(store, counted);

  beforeAll(async () => {
    for (let n = 0; n < TRANSACTIONS; n++) {
      database.apply(transaction(n), CREATED_AT_MS + 40 * n);
      if (n % 53 === 0) await database.flush();
    }
    await database.flush();
  });

  it.each(FAMILIES)('finds what is selected by %s', async (_name, selectors, at, order) => {
    for (const selector of selectors) {
      const query = { selector, revisions: {}, direction, ...order };
      const found: string[] = [];
      for await (const slice of queryEvents(database.source, { at, query })) {
        found.push(...slice.map(positionText));
        expect(counted.openRanges).toBe(0);
      }
      const wanted = naiveAnswer(database.events, at, query).map(positionText);
      expect([selector, found.join()]).toEqual([selector, wanted.join()]);
    }
  });
});
