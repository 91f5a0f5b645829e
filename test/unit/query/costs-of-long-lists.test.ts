// Goal: reads of long lists take from the store what docs/http.md says (Q4), and answer as a look at every event does
// (Q1). Method: 40,000 events out of every order, a reader that counts rows.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EventQuery, type Selector } from '#model';
import { type ListedName, type Listing, listSubjects, queryEvents } from '#query';
import { CountingReader } from '../../support/counting-reader.ts';
import { type KnownDatabase, naiveAnswer } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import {
  NEVER_BOTH,
  ONCE_BOTH,
  SHUFFLED_EVENTS,
  SHUFFLED_TRANSACTIONS,
  shuffledDatabase,
} from '../../support/shuffled-database.ts';

const LAST = SHUFFLED_TRANSACTIONS;
const ENTRIES_PER_ROW = 64;
/** Heads, tips, the directory, the page or two that an answer of one event needs. */
const FEW = 16;
/** What is read of the time index, or of heads, before anything else is thought of, and what is read ahead. */
const FIRST_TRIES = 400;

const store = memoryKv();
const counted = new CountingReader(store);
let database: KnownDatabase;

beforeAll(async () => {
  database = await shuffledDatabase(store, counted);
});
beforeEach(() => counted.reset());

function cost(): number {
  return counted.gets + counted.rows;
}

interface Answer {
  readonly found: readonly unknown[];
  readonly wanted: readonly unknown[];
}

/** The positions that a query gives, and those that it should give. */
async function ask(rest: Partial<EventQuery> & { readonly selector: Selector }, at: number): Promise<Answer> {
  const query = { revisions: {}, direction: 'forward' as const, ...rest };
  const found: unknown[] = [];
  for await (const slice of queryEvents(database.source, { at, query })) found.push(...slice.map((e) => e.position));
  return { found, wanted: naiveAnswer(database.events, at, query).map(({ position }) => position) };
}

const ORDERS = [
  { direction: 'forward' },
  { direction: 'reverse' },
  { direction: 'forward', limit: 1 },
  { direction: 'reverse', limit: 1 },
  { direction: 'forward', effectiveTime: {} },
  { direction: 'reverse', effectiveTime: {} },
  { direction: 'forward', effectiveTime: {}, limit: 1 },
  { direction: 'reverse', effectiveTime: {}, limit: 1 },
] as const;

describe.each(ORDERS)('an And of two long lists, with %o', (order) => {
  it('that have nothing in common takes their heads (Q4)', async () => {
    const { found, wanted } = await ask({ selector: NEVER_BOTH, ...order }, LAST);
    expect(found).toEqual(wanted);
    expect(found).toEqual([]);
    expect(cost()).toBeLessThanOrEqual(FEW);
  });

  it('that have one event in common takes the rows of both, about twice at most (Q4)', async () => {
    const { found, wanted } = await ask({ selector: ONCE_BOTH, ...order }, LAST);
    expect(found).toEqual(wanted);
    expect(found).toHaveLength(1);
    const rowsOfBoth = (SHUFFLED_EVENTS * 3) / 4 / ENTRIES_PER_ROW;
    expect(cost()).toBeLessThanOrEqual(2 * rowsOfBoth + FIRST_TRIES);
  });
});

async function list(listing: Listing): Promise<readonly ListedName[]> {
  const names: ListedName[] = [];
  for await (const slice of listSubjects(database.source, listing)) names.push(...slice);
  return names;
}

/** Every event has a subject of its own, of ASCII. */
function naiveList({ at, after = '', limit = SHUFFLED_EVENTS }: Listing): readonly ListedName[] {
  return database.events
    .map(({ event, stored }) => ({ name: event.subject ?? '', firstRevision: stored.position.revision }))
    .filter(({ name, firstRevision }) => firstRevision <= at && name > after)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, limit);
}

const MIDDLE = 's-020000';
const LISTINGS: readonly (readonly [string, number, Listing])[] = [
  ['at revision 0, a page of it', 0, { at: 0, limit: 10, after: MIDDLE }],
  ['at revision 1, a page of it', 2 * FIRST_TRIES, { at: 1, limit: 100 }],
  ['at an early revision, a page of it', 5 * FIRST_TRIES, { at: 10, limit: 1000 }],
  ['half way, all of it', SHUFFLED_EVENTS + FIRST_TRIES, { at: LAST / 2 }],
  ['before the last, a page of it', FIRST_TRIES, { at: LAST - 1, limit: 100, after: MIDDLE }],
  ['at the last, the page behind', FIRST_TRIES, { at: LAST, limit: 100, after: MIDDLE }],
];

it.each(LISTINGS)('a listing of subjects %s takes at most %i rows (Q4)', async (_name, most, listing) => {
  expect(await list(listing)).toEqual(naiveList(listing));
  expect(cost()).toBeLessThanOrEqual(most);
});
