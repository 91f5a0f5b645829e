// Goal: every kind of selector, alone and combined with every other, finds its events by whatever plan it gets (Q1).
// Method: a database whose lists are short, long, inline, chunked, nested in one another and strangers to one another;
// every term, every And and Or of two terms and of an And with a third, in both directions, against a naive filter.

import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKv } from '#kv';
import { and, type Direction, type EventQuery, NO_SUBJECT, or, type Selector, term } from '#model';
import { queryEvents } from '#query';
import { CREATED_AT_MS, type EventSketch, KnownDatabase, naiveAnswer } from '../../support/known-database.ts';

const TRANSACTIONS = 1_350;

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

function pairs(): readonly (readonly [Selector, Selector])[] {
  return TERMS.flatMap((left, place) => TERMS.slice(place + 1).map((right) => [left, right] as const));
}

describe.each(['forward', 'reverse'] as const)('a query going %s', (direction: Direction) => {
  const database = new KnownDatabase(memoryKv());

  beforeAll(async () => {
    for (let n = 0; n < TRANSACTIONS; n++) {
      database.apply(transaction(n), CREATED_AT_MS + 40 * n);
      if (n % 53 === 0) await database.flush();
    }
    await database.flush();
  });

  /** What was found and what was wanted, where they differ. */
  async function differences(
    selectors: readonly Selector[],
    at: number,
    order: Pick<EventQuery, 'effectiveTime'> = {},
  ): Promise<readonly unknown[]> {
    const differing: unknown[] = [];
    for (const selector of selectors) {
      const query = { selector, revisions: {}, direction, ...order };
      const found: string[] = [];
      for await (const slice of queryEvents(database.source, { at, query })) {
        for (const { position } of slice) found.push(`${position.revision}.${position.index}`);
      }
      const wanted = naiveAnswer(database.events, at, query).map(
        ({ position }) => `${position.revision}.${position.index}`,
      );
      if (found.join() !== wanted.join()) differing.push({ selector, at, found, wanted });
    }
    return differing;
  }

  it.each([TRANSACTIONS, 700])('finds what each term selects, at revision %d', async (at) => {
    expect(await differences(TERMS, at)).toEqual([]);
  });

  it.each([TRANSACTIONS, 700])('finds what the And of any two selects, at revision %d', async (at) => {
    expect(
      await differences(
        pairs().map((parts) => and(parts)),
        at,
      ),
    ).toEqual([]);
  });

  it('finds what the And of any two selects, in the order of effective time', async () => {
    expect(
      await differences(
        pairs().map((parts) => and(parts)),
        TRANSACTIONS,
        { effectiveTime: {} },
      ),
    ).toEqual([]);
  });

  it('finds what the Or of any two selects', async () => {
    expect(
      await differences(
        pairs().map((parts) => or(parts)),
        TRANSACTIONS,
      ),
    ).toEqual([]);
  });

  it('finds what an Or of an And and a term selects', async () => {
    const nested = pairs().flatMap((pair, place) => {
      if (place % 7 !== 0) return [];
      const third = TERMS[place % TERMS.length];
      return third === undefined ? [] : [or([and(pair), third]), and([or(pair), third])];
    });
    expect(await differences(nested, TRANSACTIONS)).toEqual([]);
  });
});
