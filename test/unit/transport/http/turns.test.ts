// Long work leaves the event loop to all other work every few milliseconds (TH11).
import { expect, it } from 'vitest';
import { createByteBudgets } from '#transport';
import { Turns } from '../../../../src/transport/http/turns.ts';
import { until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { dial } from '../../../support/raw-http.ts';

it('pieces of long work give what they return and throw, a few milliseconds a turn', async () => {
  let nowMs = 0;
  const turns = new Turns(() => nowMs);
  const done: number[] = [];
  const pieces = [1, 2, 3, 4, 5, 6].map((piece) =>
    turns.run(() => {
      nowMs += 4;
      done.push(piece);
      if (piece === 3) throw new Error('broken');
      return piece;
    }),
  );
  const ended = Promise.allSettled(pieces);
  const seen = [done.join('')];
  for (; done.length < 6; seen.push(done.join(''))) await new Promise(setImmediate);
  expect(seen).toEqual(['12', '1234', '123456']);
  const results = (await ended).map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)));
  expect(results).toEqual([1, 2, 'Error: broken', 4, 5, 6]);
});

const EVENTS_EACH = 125;
const NUMBER_COUNT = 3_500;

it('a large page lets the event loop come round all the while it is made (TH11)', { timeout: 60_000 }, async () => {
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

/** What this thread has had of a processor: it stands still while others have them. */
function busyUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
