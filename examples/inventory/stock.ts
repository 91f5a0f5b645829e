/**
 * A State View in the order of effective time: what was on hand at a time, by what was known at a revision.
 *
 * A count overrides earlier events, so the order matters: a shipment that is recorded after a count, and happened
 * before it, explains items that were missing. In the order of revisions they would be subtracted twice.
 */
import { defineStateView, mapCodec, type StateViewComponent } from '../../sdk/component/src/index.ts';
import type { StockEvent } from './events.ts';

interface Stock {
  readonly onHand: number;
  /** Number of items that counts found missing, less those that they found in excess. */
  readonly lost: number;
  readonly countedAt?: string;
}

type StockByItem = Map<string, Stock>;

export const component: StateViewComponent<StockByItem, StockEvent> = defineStateView<StockByItem, StockEvent>({
  initialState: () => new Map(),
  codec: mapCodec(),
  evolve(items, event) {
    const item = event.subject;
    if (item === undefined) throw new Error(`The event ${event.id} has no item`);
    return items.set(item, after(items.get(item) ?? { onHand: 0, lost: 0 }, event));
  },
  /** By the names of the items. Which of them, the definition of a view says: its selector may have a parameter. */
  render: (items) =>
    [...items].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([item, stock]) => ({ item, ...stock })),
});

function after(stock: Stock, event: StockEvent): Stock {
  const { quantity } = event.data;
  switch (event.type) {
    case 'stock.received':
      return { ...stock, onHand: stock.onHand + quantity };
    case 'stock.shipped':
      return { ...stock, onHand: stock.onHand - quantity };
    case 'stock.counted': {
      const lost = stock.lost + stock.onHand - quantity;
      return { onHand: quantity, lost, countedAt: event.time ?? event.recordedtime };
    }
  }
}
