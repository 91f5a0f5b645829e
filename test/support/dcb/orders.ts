/** Orders that are placed once, however often they are sent: a token of the client is the boundary. */
import type { Decider, Fact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

interface PlaceOrder {
  readonly order: string;
  readonly token: string;
}

const placed = (order: string, token: string): Fact => ({
  type: 'order-placed',
  stream: 'orders',
  subject: token,
  data: { order },
});

export const ORDER_ONCE: Decider<PlaceOrder> = {
  boundary: ({ token }) => ({ subject: token }),
  decide: (past, { order, token }) => (past.length > 0 ? 'The order was sent before' : placed(order, token)),
};

export const ORDERS: readonly Scenario<PlaceOrder>[] = [
  {
    name: 'a token that was used is refused',
    past: [placed('o12345', '11111')],
    command: { order: 'o54321', token: '11111' },
    outcome: 'The order was sent before',
  },
  {
    name: 'a new token places the order',
    past: [placed('o12345', '22222')],
    command: { order: 'o54321', token: '11111' },
    outcome: placed('o54321', '11111'),
  },
];
