// Goal: the example of an inventory folds what happened by a time, in the order in which it happened. Method: scenarios
// of the test kit, over plain code; its component runs on a node in test/examples/inventory.long.test.ts.
import { describe, it } from 'vitest';
import { stockEvent } from '../../examples/inventory/events.ts';
import { component } from '../../examples/inventory/stock.ts';
import { plainView } from '../../sdk/component/testing/plain.ts';
import { view } from '../../sdk/component/testing/scenario.ts';

const RECEIVED = stockEvent('stock.received', 'lamp', 10, '2026-03-01T09:00:00Z');
const COUNTED = stockEvent('stock.counted', 'lamp', 7, '2026-03-05T18:00:00Z');
const SHIPPED = stockEvent('stock.shipped', 'lamp', 3, '2026-03-03T12:00:00Z');
const COUNTED_AT = '2026-03-05T18:00:00Z';

describe('the inventory', () => {
  const until = (effectiveTimeEndAt: string): ReturnType<typeof view> =>
    view(plainView(component), { effectiveTimeEndAt });
  const march = (): ReturnType<typeof view> => until('2026-03-31T00:00:00Z');

  it('has missing items after a count, until their shipment is recorded', async () => {
    await march()
      .given(RECEIVED, COUNTED)
      .thenState([{ item: 'lamp', onHand: 7, lost: 3, countedAt: COUNTED_AT }]);
    await march()
      .given(RECEIVED, COUNTED, SHIPPED)
      .thenState([{ item: 'lamp', onHand: 7, lost: 0, countedAt: COUNTED_AT }]);
  });

  it('is what it was at the cut', async () => {
    const given = [RECEIVED, COUNTED, SHIPPED];
    await until('2026-02-28T00:00:00Z')
      .given(...given)
      .thenState([]);
    await until('2026-03-03T11:59:59.999Z')
      .given(...given)
      .thenState([{ item: 'lamp', onHand: 10, lost: 0 }]);
    await until('2026-03-03T12:00:00Z')
      .given(...given)
      .thenState([{ item: 'lamp', onHand: 7, lost: 0 }]);
  });
});
