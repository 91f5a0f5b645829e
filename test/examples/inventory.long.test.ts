// Goal: on a node, what the inventory says of a day follows from what was known at the revision: what is heard of late
// changes the answer at later revisions, and not one byte of it at earlier ones. Method: one story; then movements that
// are heard of in any order, read at every revision and many cuts as they come, beside a fold that is written here.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILD_MS, ExampleNode } from '../support/example-node.ts';

/** One component, and two views of it: of the whole stock, and of an item. */
const VIEW = { content_type: 'application/json', query_temporality: 'effective_timestamp' };
const TYPES = ['received', 'shipped', 'counted'] as const;

interface Movement {
  readonly type: (typeof TYPES)[number];
  readonly item: string;
  readonly quantity: number;
  readonly time: string;
}

let node: ExampleNode;
beforeAll(async () => {
  node = await ExampleNode.start('warehouse', '--guest-executors=1');
  const all = { ...VIEW, state_view_name: 'stock', event_selector: { stream: 'stock' } };
  await node.publish('state-views', all, 'inventory/stock.ts');
  const one = { and: [{ stream: 'stock' }, { equals: { subject: { parameter: 'item' } } }] };
  await node.publish('state-views', { ...VIEW, state_view_name: 'item', event_selector: one }, 'inventory/stock.ts');
}, BUILD_MS);
afterAll(async () => node[Symbol.asyncDispose]());

let heard = 0;
function hear({ type, item, quantity, time }: Movement): Promise<number> {
  heard += 1;
  const event = { id: `m${heard}`, source: '/stock', type: `stock.${type}`, subject: item, time, data: { quantity } };
  return node.commit(event);
}

/** All of it, or of one item. */
async function stockAt(revision: number, cut: string, item?: string): Promise<string> {
  const [view, bound] = item === undefined ? ['stock', {}] : ['item', { 'subject.item': item }];
  const search = new URLSearchParams({ effective_time_end_at: cut, ...bound });
  const answer = await node.get(`/api/v1/db/warehouse/${revision}/state-views/${view}/v1?${search.toString()}`);
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, expect.stringMatching(/^\[/)]);
  return text;
}

describe('the inventory', { timeout: 120_000 }, () => {
  it('hears of a shipment late, and has said what it said', async () => {
    const march = '2026-03-31T00:00:00Z';
    await hear({ type: 'received', item: 'lamp', quantity: 10, time: '2026-03-01T09:00:00Z' });
    const counted = await hear({ type: 'counted', item: 'lamp', quantity: 7, time: '2026-03-05T18:00:00Z' });
    const report = await stockAt(counted, march, 'lamp');
    const at = { item: 'lamp', onHand: 7, countedAt: '2026-03-05T18:00:00Z' };
    expect(JSON.parse(report)).toEqual([{ ...at, lost: 3 }]);

    const shipped = await hear({ type: 'shipped', item: 'lamp', quantity: 3, time: '2026-03-03T12:00:00Z' });
    expect(JSON.parse(await stockAt(shipped, march, 'lamp'))).toEqual([{ ...at, lost: 0 }]);
    expect(await stockAt(counted, march, 'lamp')).toBe(report);
    const thatDay = '2026-03-04T00:00:00Z';
    expect(JSON.parse(await stockAt(shipped, thatDay, 'lamp'))).toEqual([{ item: 'lamp', onHand: 7, lost: 0 }]);
    expect(JSON.parse(await stockAt(counted, thatDay, 'lamp'))).toEqual([{ item: 'lamp', onHand: 10, lost: 0 }]);
  });

  it('says at each revision and each cut what follows from the movements by hand', async () => {
    const movement = fc.record({
      type: fc.constantFrom(...TYPES),
      item: fc.constantFrom('chair', 'table', '7', '__proto__'),
      quantity: fc.integer({ min: 1, max: 20 }),
      time: fc
        .tuple(fc.integer({ min: 0, max: 11 }), fc.constantFrom('Z', '+02:00', '-05:30'))
        .map(([hour, zone]) => `2026-04-01T${String(hour).padStart(2, '0')}:00:00${zone}`),
    });
    const known = new Map<number, Movement>();
    const said = new Map<string, string>();
    for (const [n, each] of fc.sample(movement, 40).entries()) {
      known.set(await hear(each), each);
      const revisions = [...known.keys()];
      for (const revision of [revisions.at(-1) ?? 0, revisions.at((n * 7) % revisions.length) ?? 0]) {
        for (const cut of ['2026-04-01T02:00:00Z', `2026-04-01T0${n % 10}:30:00Z`, '2026-04-02T00:00:00Z']) {
          const found = await stockAt(revision, cut);
          const items: readonly { readonly item: string }[] = JSON.parse(found);
          const expected = byHand(
            [...known].flatMap(([at, one]) => (at <= revision ? [one] : [])),
            cut,
          );
          expect(items.filter(({ item }) => item !== 'lamp')).toEqual(expected);
          expect(found).toBe(said.get(`${revision} ${cut}`) ?? found);
          said.set(`${revision} ${cut}`, found);
        }
      }
    }
    expect(said.size).toBeGreaterThan(150);
  });
});

/** Each item by itself, from its last count on. */
function byHand(movements: readonly Movement[], cut: string): readonly object[] {
  const items = [...new Set(movements.map(({ item }) => item))].toSorted();
  return items.flatMap((item) => {
    const own = movements
      .filter((each) => each.item === item && new Date(each.time) <= new Date(cut))
      .toSorted((one, other) => new Date(one.time).getTime() - new Date(other.time).getTime());
    if (own.length === 0) return [];
    const sum = (some: readonly Movement[]): number =>
      some.reduce((total, { type, quantity }) => total + (type === 'received' ? quantity : -quantity), 0);
    let lost = 0;
    let onHand = 0;
    let begin = 0;
    for (const [at, { type, quantity }] of own.entries()) {
      if (type !== 'counted') continue;
      lost += onHand + sum(own.slice(begin, at)) - quantity;
      onHand = quantity;
      begin = at + 1;
    }
    const last = own.findLast(({ type }) => type === 'counted');
    const rest = onHand + sum(own.slice(begin));
    return [{ item, onHand: rest, lost, ...(last === undefined ? {} : { countedAt: last.time }) }];
  });
}
