// Goal: reads of long lists read at most the rows that docs/http.md documents (Q4), and return the same as a scan of
// all events (Q1). Method: 40,000 events in shuffled order, and a reader that counts rows.
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
/** Rows of heads and tips, and the event of an answer of one. */
const FEW = 8;
/** Rows of the time index or of heads that are read before a plan is chosen, and rows that are read ahead. */
const FIRST_TRIES = 400;

const store = memoryKv();
const counted = new CountingReader(store);
let database: KnownDatabase;

beforeAll(async () => {
  database = await shuffledDatabase(store, counted);
});
beforeEach(() => counted.reset());

function cost(): number {
  return counted.gets + counted.rows + counted.reads;
}

interface Answer {
  readonly found: readonly unknown[];
  readonly wanted: readonly unknown[];
}

/** Returns the positions in the answer, and the expected ones. */
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
  it('without a common event reads only their heads (Q4)', async () => {
    const { found, wanted } = await ask({ selector: NEVER_BOTH, ...order }, LAST);
    expect(found).toEqual(wanted);
    expect(found).toEqual([]);
    expect(cost()).toBeLessThanOrEqual(FEW);
  });

  it('with one common event reads the rows of both about twice at most (Q4)', async () => {
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

/** Expected listing. Every event has its own subject, in ASCII. */
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

it.each(LISTINGS)('a listing of subjects %s reads at most %i rows (Q4)', async (_name, most, listing) => {
  expect(await list(listing)).toEqual(naiveList(listing));
  expect(cost()).toBeLessThanOrEqual(most);
});
