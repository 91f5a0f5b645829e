// Goal: long work yields to the event loop every few milliseconds (TH11). Method: a large page, and the longest time
// between turns.
import { expect, it } from 'vitest';
import { createByteBudgets } from '#transport';
import { until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { dial } from '../../../support/raw-http.ts';

const EVENTS_EACH = 125;
const NUMBER_COUNT = 3_500;

it('a large page yields to the event loop while it is built (TH11)', { timeout: 60_000 }, async () => {
  const budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: 2 ** 30 });
  await using world = await startHttpWorld({ budgets, holdsWaits: false });
  await world.client.create('shop');
  const data = Array.from({ length: NUMBER_COUNT }, () => 1);
  for (let n = 0; n < 8; n++) {
    const events = Array.from({ length: EVENTS_EACH }, (_, place) => cloudEvent(`e${n}-${place}`, { data }));
    const transactionId = `00000000-0000-4000-8000-00000000000${n}`;
    await world.client.post('/databases/shop/events', { transaction_id: transactionId, events });
  }
  const socket = (await dial(world.server.address)).resume();
  const beganUs = busyUs();
  socket.write(`GET /databases/shop/events?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  let longestUs = 0;
  let lastUs = beganUs;
  await until(() => {
    const nowUs = busyUs();
    longestUs = Math.max(longestUs, nowUs - lastUs);
    lastUs = nowUs;
    return socket.bytesRead > 0;
  });
  socket.destroy();
  expect(longestUs).toBeLessThan((lastUs - beganUs) / 3);
});

/** Returns the processor time of this thread, which excludes other processes. */
function busyUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
