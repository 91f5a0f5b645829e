// Goal: a client that ends its side of the connection after a request gets its answer (TH7). Method: half-closed
// sockets.
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { assert } from '#base';
import { eventually } from '../../../support/eventually.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { dial, exchange, HALF_CLOSE, parseReplies } from '../../../support/raw-http.ts';

const WAITING = 'GET /databases/shop HTTP/1.1\r\nHost: localhost\r\nx-min-revision: 1\r\n\r\n';

async function commitOne(world: HttpWorld): Promise<void> {
  const group = world.core.node.catalog.lookup('shop')?.group;
  assert(group !== undefined, 'The database is there');
  await world.core.transact(group, 'one');
}

it.each(['HTTP/1.1', 'HTTP/1.0'])(
  'a client that ends its side after its requests gets each answer, then the connection ends: %s',
  async (version) => {
    await using world = await startHttpWorld();
    const count = version === 'HTTP/1.1' ? 5 : 1;
    const requests = `GET /health ${version}\r\nHost: localhost\r\n\r\n`.repeat(count);
    const replies = parseReplies(await exchange(world.server.address, requests, HALF_CLOSE));
    expect(replies.map(({ status, body }) => [status, body])).toEqual(Array.from({ length: count }, () => [200, 'OK']));
  },
);

it('a client that ends its side after its request receives 100 Continue while it waits, and then the answer', async () => {
  await using world = await startHttpWorld();
  await world.client.create('shop');
  const socket = await dial(world.server.address);
  let heard = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    heard += text;
  });
  socket.end(WAITING);
  await eventually(() => expect(heard).toContain('HTTP/1.1 100 Continue'));
  expect(world.timers.count).toBe(1);
  await commitOne(world);
  await once(socket, 'close');
  const statuses = parseReplies(heard).map(({ status }) => status);
  expect(statuses.at(-1)).toBe(200);
  expect(new Set(statuses.slice(0, -1))).toEqual(new Set([100]));
});
