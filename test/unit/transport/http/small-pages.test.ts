// Goal: small answers do not wait for large ones that hundreds of sockets do not read (TM4). Method: many clients that
// do not read large pages, and one that reads.
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ByteBudgets, createByteBudgets } from '#transport';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { dial } from '../../../support/raw-http.ts';

/** The minimum budget of a node. */
const UNSENT_BYTES = 32 * 1024 * 1024;
const LONG_MS = 600_000;
const SLOW_READERS = 200;
const REQUESTS = 200;
/** Pages of these are larger than the socket buffers of both ends. */
const LARGE = 'x'.repeat(900_000);
const LARGE_EVENTS = 9;
const SMALL_EVENTS = 20;

describe('small answers, while hundreds do not read their large ones', () => {
  let world: HttpWorld;
  let budgets: ByteBudgets;
  let slow: readonly Socket[];

  beforeAll(async () => {
    const time = new ManualTime();
    // No wait times out before the test has ended, also on a busy machine.
    budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES, waitMs: LONG_MS, time });
    world = await startHttpWorld({ budgets, holdsWaits: false });
    await world.client.create('large');
    await world.client.create('small');
    for (let n = 0; n < LARGE_EVENTS; n++) await commit('large', n, cloudEvent(`e${n}`, { data: LARGE }));
    for (let n = 0; n < SMALL_EVENTS; n++) await commit('small', n, cloudEvent(`e${n}`));
    slow = await Promise.all(Array.from({ length: SLOW_READERS }, ask));
    // No client has memory for another large page, and all of them know that their page is not small.
    await until(() => budgets.unsent.waiting > SLOW_READERS - 10 && budgets.small.used === 0);
  }, 60_000);

  afterAll(async () => {
    for (const socket of slow) socket.destroy();
    await world[Symbol.asyncDispose]();
  });

  async function commit(database: string, n: number, event: object): Promise<void> {
    const id = `00000000-0000-4000-8000-${database === 'large' ? '1' : '2'}${String(n).padStart(11, '0')}`;
    const answer = await world.client.post(`/databases/${database}/events`, { transaction_id: id, events: [event] });
    expect(answer.status).toBe(200);
  }

  async function ask(): Promise<Socket> {
    const socket = (await dial(world.server.address)).pause();
    socket.on('error', () => socket.destroy());
    socket.write('GET /databases/large/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return socket;
  }

  it('are all sent to a client that reads', async () => {
    const limited = Array.from(
      { length: REQUESTS },
      (_, n) => `/databases/small/events?limit=${1 + (n % SMALL_EVENTS)}`,
    );
    const single = `/api/v1/db/small/transaction/00000000-0000-4000-8000-2${'0'.repeat(11)}`;
    for (const path of [...limited, '/databases/small/events/1', single, '/databases/small/events']) {
      expect([path, (await world.client.get(path)).status]).toEqual([path, 200]);
    }
    expect(budgets.unsent.waiting).toBeGreaterThan(0);
  }, 60_000);
});
