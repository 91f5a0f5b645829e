/**
 * Events of the items of a warehouse. The time of an event says when it happened; the revision that it gets says
 * when the warehouse recorded it.
 */
import type { NewEvent, StoredEvent } from '../../sdk/component/src/index.ts';

interface Quantity {
  readonly quantity: number;
}
export type StockEvent =
  | StoredEvent<'stock.received', Quantity>
  | StoredEvent<'stock.shipped', Quantity>
  /** Items were counted: from then on there are so many, regardless of earlier events. */
  | StoredEvent<'stock.counted', Quantity>;

export function stockEvent(type: StockEvent['type'], item: string, quantity: number, time: string): NewEvent {
  return { source: '/stock', type, subject: item, time, data: { quantity } };
}
