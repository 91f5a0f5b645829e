// Goal: subscriptions read only on demand, and release everything at their end (V6 to V8). Method: the service of one
// node.
import { beforeEach, expect, it } from 'vitest';
import { ALL, type Selector } from '#model';
import type { SubscriptionItem } from '#service';
import { NEVER, ServiceWorld, settle } from '../../support/service-world.ts';

let world: ServiceWorld;

beforeEach(async () => {
  world = await new ServiceWorld({ tailsMax: 2, tailBytesMax: 5_000 }).start();
  await world.database('shop', 2);
});

interface Options {
  readonly selector?: Selector;
  readonly after?: { readonly revision: number; readonly index: number };
  readonly signal?: AbortSignal;
}

async function subscribe(options: Options = {}): Promise<AsyncIterator<SubscriptionItem>> {
  const after = options.after === undefined ? {} : { after: options.after };
  const { items } = await world.service.subscribe({
    databaseName: 'shop',
    selector: options.selector ?? ALL,
    heartbeatMs: 1000,
    signal: options.signal ?? NEVER,
    ...after,
  });
  return items[Symbol.asyncIterator]();
}

async function pull(items: AsyncIterator<SubscriptionItem>): Promise<string> {
  const { value, done } = (await items.next()) as IteratorResult<SubscriptionItem, undefined>;
  if (done === true || value === undefined) return 'end';
  if (value.kind === 'heartbeat') return `beat ${value.position.revision} of ${value.revision}`;
  return value.events.map(({ position }) => `${position.revision}.${position.index}`).join(' ');
}

it('a subscription releases everything when its reader stops', async () => {
  const items = await subscribe();
  await pull(items);
  expect(await world.metric('cairn_streams_open{op="subscribe"}')).toBe(1);
  await items.return?.();
  expect(world.timers.count).toBe(0);
  expect(await world.metric('cairn_streams_open{op="subscribe"}')).toBe(0);
});

it('a subscription is rejected when too many are open', async () => {
  const open = [await subscribe(), await subscribe()];
  for (const items of open) await pull(items);
  const third = await subscribe();
  expect(await third.next().catch((error: unknown) => error)).toMatchObject({ code: 'busy' });
  await open[0]?.return?.();
  expect(await pull(await subscribe())).toBe('1.0 2.0');
});

it('a subscription reads only what its reader pulls (V7)', async () => {
  const items = await subscribe();
  await pull(items);
  const returned = await world.metric('cairn_query_events_returned_total');
  for (let n = 0; n < 50; n++) await world.transact('shop', { events: [{ source: 'orders', id: 'x' }] });
  await settle();
  expect(await world.metric('cairn_query_events_returned_total')).toBe(returned);
});
