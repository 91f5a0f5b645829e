// Goal: on a node, what the inventory says of a day follows from what was known at the revision: what is heard of late
// changes the answer at later revisions, and not one byte of it at earlier ones. Method: one story; then movements that
// are heard of in any order, read at every revision and many cuts as they come, beside a fold that is written here.
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
});
