/** Products whose shown price stays valid for ten minutes after it has changed, alone and in a cart. */
import type { Decider, Fact, PastFact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

const NOW = Date.UTC(2024, 5, 10, 12);
const MINUTE_MS = 60_000;
const GRACE_MINUTES = 10;

interface Buy {
  readonly items: readonly { readonly product: string; readonly shownPrice: number }[];
}

const priced = (type: string, product: string, price: number, minutesAgo: number): Fact => ({
  type,
  stream: 'products',
  subject: product,
  data: { price },
  time: new Date(NOW - minutesAgo * MINUTE_MS).toISOString().replace('.000Z', 'Z'),
});
const defined = (product: string, price: number, minutesAgo = 500): Fact =>
  priced('product-defined', product, price, minutesAgo);
const changed = (product: string, price: number, minutesAgo: number): Fact =>
  priced('product-price-changed', product, price, minutesAgo);
const ordered = (items: Buy['items']): Fact => ({ type: 'products-ordered', stream: 'orders', data: { items } });

function isValid(past: readonly PastFact[], item: Buy['items'][number]): boolean {
  const prices = past.filter((fact) => fact.subject === item.product);
  return prices.some((fact, i) => {
    const replaced = prices[i + 1];
    const stillShown = replaced === undefined || NOW - Date.parse(replaced.time ?? '') <= GRACE_MINUTES * MINUTE_MS;
    return Number(fact.data['price']) === item.shownPrice && stillShown;
  });
}

export const BUY: Decider<Buy> = {
  boundary: ({ items }) => ({ or: items.map(({ product }) => ({ stream: 'products', subject: product })) }),
  decide: (past, { items }) => {
    const wrong = items.find((item) => !isValid(past, item));
    return wrong === undefined ? ordered(items) : `Invalid price for ${wrong.product}`;
  },
};

const p1 = (shownPrice: number): Buy => ({ items: [{ product: 'p1', shownPrice }] });
const wrong = 'Invalid price for p1';
const cart: Buy = {
  items: [
    { product: 'p1', shownPrice: 123 },
    { product: 'p2', shownPrice: 321 },
  ],
};

export const PRICES: readonly Scenario<Buy>[] = [
  { name: 'another price than the one shown is refused', past: [defined('p1', 123)], command: p1(100), outcome: wrong },
  { name: 'the price shown is taken', past: [defined('p1', 123)], command: p1(123), outcome: ordered(p1(123).items) },
  {
    name: 'a price that never was is refused',
    past: [defined('p1', 123), changed('p1', 134, 5)],
    command: p1(100),
    outcome: wrong,
  },
  {
    name: 'a price that changed long ago is refused',
    past: [defined('p1', 123), changed('p1', 134, 11)],
    command: p1(123),
    outcome: wrong,
  },
  {
    name: 'a price that changed a moment ago is taken',
    past: [defined('p1', 123), changed('p1', 134, 9)],
    command: p1(123),
    outcome: ordered(p1(123).items),
  },
  {
    name: 'the new price is taken',
    past: [defined('p1', 123), changed('p1', 134, 9)],
    command: p1(134),
    outcome: ordered(p1(134).items),
  },
  {
    name: 'a cart of valid prices is taken',
    past: [defined('p1', 123), defined('p2', 300), changed('p2', 321, 20)],
    command: cart,
    outcome: ordered(cart.items),
  },
  {
    name: 'a cart with one wrong price is refused',
    past: [defined('p1', 123), defined('p2', 300)],
    command: cart,
    outcome: 'Invalid price for p2',
  },
];
