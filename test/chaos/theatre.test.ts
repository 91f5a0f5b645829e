// Goal: the checks of components under faults find every fault, and none in a correct history. Method: histories in
// each of which one answer is wrong.
import { describe, expect, it } from 'vitest';
import { eventType, SOLD_MAX } from '../../chaos/components/seats.ts';
import { checkSeats, folded } from '../../chaos/components/seats-check.ts';
import type { FinalSeats, Sale, Show, SoldEvent } from '../../chaos/components/seats-history.ts';
import { theatreCounts, theatreShortfalls } from '../../chaos/components/theatre-counts.ts';

/** Two houses: one has sold its maximum, and one has sold one seat. */
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

/** Sales for all sold seats, all acknowledged. */
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

const strange = (text: string) => ({ kind: 'strange', text }) as const;
const REFUSED_AND_SOLD = refusal('taken', 9, { batchId: 'batch 9' });
const OLD = { at: 'latest', floor: 9 } as const;
const OF_ONE = folded(EVENTS.slice(-1));
const SOLD_AGAIN = [...EVENTS, soldAt(LAST + 1, '0001', '00')];
const SOLD_TOO_MANY = [...EVENTS, soldAt(LAST + 1, '0000', '19')];

interface Told {
  readonly sales?: readonly Sale[];
  readonly shows?: readonly Show[];
  readonly events?: readonly SoldEvent[];
}

/** The first sale with an unknown outcome. */
function uncertain(more: Partial<Sale>): readonly Sale[] {
  return SALES.with(0, { ...REFUSED, ...SALES[0], ...more, outcome: { kind: 'unknown' } });
}

describe('the checks of components', () => {
  it('report counts below their minimum', () => {
    const counts = theatreCounts({ sales: SALES, shows: [show(OF_ONE)] });
    expect(counts).toMatchObject({ sold: 9, full: 0, shown: 1 });
    expect(theatreShortfalls(counts, 1)).toEqual([
      'components, sold: 9 in the run, which was to have 15 or more',
      'components, full: 0 in the run, which was to have 1 or more',
      'components, taken: 0 in the run, which was to have 1 or more',
      'components, shown: 1 in the run, which was to have 15 or more',
    ]);
  });

  it.each<readonly [string, Told]>([
    ['what is so', {}],
    ['a right refusal of a seat', { sales: [...SALES, refusal('taken', LAST)] }],
    ['a right refusal of a house', { sales: [...SALES, refusal('full', LAST - 1, { house: '0000', seat: '15' })] }],
    ['a right state', { shows: [show(OF_ONE), show('', {}, LAST - 1)].map((each) => ({ ...each, at: 'latest' })) }],
  ])('find nothing in %s', (_what, { sales = SALES, shows = [] }) => {
    expect(checkSeats({ sales, shows }, finalWith(EVENTS))).toEqual([]);
  });

  it.each<readonly [string, RegExp, Told]>([
    ['a seat that is sold twice', /^sold\.00 of the house 0001 is sold at 9 and 10$/, { events: SOLD_AGAIN }],
    ['a house that has sold too many', /^the house 0000 has sold 9 of 8 seats$/, { events: SOLD_TOO_MANY }],
    ['a lost sale', /acknowledged at 9, and is recorded at none$/, { events: EVENTS.slice(0, -1) }],
    ['a sale without a request', /^batch 1 at revision 1 was asked by nobody$/, { sales: SALES.slice(1) }],
    ['another seat', /^the sale batch 1 of 11 in 0000 by a is recorded at 1 as /, { sales: uncertain({ seat: '11' }) }],
    ['a sale before its request', /is recorded at 1, and was asked behind 1$/, { sales: uncertain({ floor: 1 }) }],
    ['a refusal of a sale', /was refused as taken, and is at 9$/, { sales: SALES.with(8, REFUSED_AND_SOLD) }],
    ['a free seat', /was refused as taken at 8, which is not so$/, { sales: [...SALES, refusal('taken', LAST - 1)] }],
    ['a house with room', /was refused as full at 9, which is not so$/, { sales: [...SALES, refusal('full', LAST)] }],
    ['a strange answer', /was answered 500$/, { sales: [...SALES, { ...REFUSED, outcome: strange('500') }] }],
    ['a state of other bytes', /^the house 0001 at 9, shown to b, is 09/, { shows: [show(folded(EVENTS))] }],
    ['a state without an event', /shown to b, is {2}at 9, not 01/, { shows: [show('')] }],
    ['another revision', /at 8, shown to b, is shown at 9$/, { shows: [show(OF_ONE, { at: 8 })] }],
    ['an old latest state', /is shown at 8, and 9 was acknowledged before$/, { shows: [show('', OLD, 8)] }],
    ['a view without an answer', /was answered 404$/, { shows: [{ ...SHOWN, outcome: strange('404') }] }],
  ])('find %s', (_what, problem, { sales, shows = [], events = EVENTS }) => {
    const told = sales ?? (events.length > EVENTS.length ? salesOf(events) : SALES);
    expect(checkSeats({ sales: told, shows }, finalWith(events))).toEqual([expect.stringMatching(problem)]);
  });
});
