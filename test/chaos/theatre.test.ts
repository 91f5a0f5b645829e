// Goal: what judges components under faults finds what is wrong, and nothing where nothing is. Method: histories in
// each of which one thing is not as it was told.
import { describe, expect, it } from 'vitest';
import { eventType, SOLD_MAX } from '../../chaos/components/seats.ts';
import { checkSeats, folded } from '../../chaos/components/seats-check.ts';
import type { FinalSeats, Sale, Show, SoldEvent } from '../../chaos/components/seats-history.ts';
import { theatreCounts, theatreShortfalls } from '../../chaos/components/theatre-counts.ts';

/** Two houses: one has sold all that it may, and one a seat. */
const EVENTS: readonly SoldEvent[] = [
  ...Array.from({ length: SOLD_MAX }, (_, n) => soldAt(n + 1, '0000', `0${n}`)),
  soldAt(SOLD_MAX + 1, '0001', '00'),
];

function soldAt(revision: number, subject: string, seat: string): SoldEvent {
  return { revision, type: eventType(seat), subject, text: `{"id":"${revision}","subject":"${subject}"}` };
}

function finalWith(events: readonly SoldEvent[]): FinalSeats {
  const transactions = events.map(({ revision }) => ({ revision, transactionId: `batch ${revision}` }));
  return { revision: events.at(-1)?.revision ?? 0, transactions, events };
}

/** As everything that was sold was asked for, and acknowledged. */
function salesOf(events: readonly SoldEvent[]): Sale[] {
  return events.map(({ revision, type, subject = '' }) => ({
    client: 'a',
    batchId: `batch ${revision}`,
    house: subject,
    seat: type.slice(-2),
    floor: revision - 1,
    outcome: { kind: 'sold', revision, isReplayed: false },
  }));
}

const SALES = salesOf(EVENTS);
const LAST = SOLD_MAX + 1;
const REFUSED = { client: 'b', batchId: 'other', house: '0001', seat: '00', floor: 0 };
const SHOWN = { client: 'b', house: '0001', at: LAST, floor: 0 };

function refusal(reason: 'full' | 'taken', revision: number, more: Partial<Sale> = {}): Sale {
  return { ...REFUSED, ...more, outcome: { kind: 'refused', reason, revision } };
}

function show(bytes: string, more: Partial<Show> = {}, revision: number = LAST): Show {
  return { ...SHOWN, ...more, outcome: { kind: 'shown', revision, bytes } };
}

const OF_ONE = folded(EVENTS.slice(-1));
const SOLD_AGAIN = [...EVENTS, soldAt(LAST + 1, '0001', '00')];
const SOLD_TOO_MANY = [...EVENTS, soldAt(LAST + 1, '0000', '19')];

interface Told {
  readonly what: string;
  readonly sales?: readonly Sale[];
  readonly shows?: readonly Show[];
  readonly events?: readonly SoldEvent[];
  readonly problem?: RegExp;
}

describe('the checks of components', () => {
  it('say what there was too little of', () => {
    const counts = theatreCounts({ sales: SALES, shows: [show(OF_ONE)] });
    expect(counts).toMatchObject({ sold: 9, full: 0, shown: 1 });
    expect(theatreShortfalls(counts, 1)).toEqual([
      'components, sold: 9 in the run, which was to have 15 or more',
      'components, full: 0 in the run, which was to have 1 or more',
      'components, taken: 0 in the run, which was to have 1 or more',
      'components, shown: 1 in the run, which was to have 15 or more',
    ]);
  });

  it.each<Told>([
    { what: 'what is so' },
    { what: 'a right refusal of a seat', sales: [...SALES, refusal('taken', LAST)] },
    { what: 'a right refusal of a house', sales: [...SALES, refusal('full', LAST - 1, { house: '0000', seat: '15' })] },
    { what: 'a right state', shows: [show(OF_ONE), show('', {}, LAST - 1)].map((each) => ({ ...each, at: 'latest' })) },
  ])('find nothing in $what', ({ sales = SALES, shows = [] }) => {
    expect(checkSeats({ sales, shows }, finalWith(EVENTS))).toEqual([]);
  });

  it.each<Told>([
    {
      what: 'a seat that is sold twice',
      events: SOLD_AGAIN,
      problem: /^sold\.00 of the house 0001 is sold at 9 and 10$/,
    },
    {
      what: 'a house that has sold too many',
      events: SOLD_TOO_MANY,
      problem: /^the house 0000 has sold 9 of 8 seats$/,
    },
    {
      what: 'a sale that is lost',
      events: EVENTS.slice(0, -1),
      problem: /acknowledged at 9, and is recorded at none$/,
    },
    {
      what: 'a sale that nobody asked for',
      sales: SALES.slice(1),
      problem: /^batch 1 at revision 1 was asked by nobody$/,
    },
    {
      what: 'a sale of another seat',
      sales: SALES.with(0, { ...REFUSED, ...SALES[0], seat: '11', outcome: { kind: 'unknown' } }),
      problem: /^the sale batch 1 of 11 in 0000 by a is recorded at 1 as /,
    },
    {
      what: 'a sale that was there before it was asked for',
      sales: SALES.with(0, { ...REFUSED, ...SALES[0], floor: 1, outcome: { kind: 'unknown' } }),
      problem: /is recorded at 1, and was asked behind 1$/,
    },
    {
      what: 'a refusal of what is sold',
      sales: SALES.with(8, refusal('taken', 9, { batchId: 'batch 9' })),
      problem: /was refused as taken, and is at 9$/,
    },
    {
      what: 'a refusal of a seat that is free',
      sales: [...SALES, refusal('taken', LAST - 1)],
      problem: /was refused as taken at 8, which is not so$/,
    },
    {
      what: 'a refusal of a house that is not full',
      sales: [...SALES, refusal('full', LAST)],
      problem: /was refused as full at 9, which is not so$/,
    },
    {
      what: 'an answer that no fault explains',
      sales: [...SALES, { ...REFUSED, outcome: { kind: 'strange', text: '500' } }],
      problem: /was answered 500$/,
    },
    {
      what: 'a state of other bytes',
      shows: [show(folded(EVENTS))],
      problem: /^the house 0001 at 9, shown to b, is 09/,
    },
    { what: 'a state without an event', shows: [show('')], problem: /shown to b, is {2}at 9, not 01/ },
    { what: 'another revision', shows: [show(OF_ONE, { at: 8 })], problem: /at 8, shown to b, is shown at 9$/ },
    {
      what: 'a latest state that is old',
      shows: [show('', { at: 'latest', floor: 9 }, 8)],
      problem: /is shown at 8, and 9 was acknowledged before$/,
    },
    {
      what: 'a view that is not answered',
      shows: [{ ...SHOWN, outcome: { kind: 'strange', text: '404' } }],
      problem: /was answered 404$/,
    },
  ])('find $what', ({ sales, shows = [], events = EVENTS, problem = /^$/ }) => {
    const told = sales ?? (events.length > EVENTS.length ? salesOf(events) : SALES);
    expect(checkSeats({ sales: told, shows }, finalWith(events))).toEqual([expect.stringMatching(problem)]);
  });
});
