// Slices are read by connection in turn, a few in each turn of the event loop (T10).
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { SliceTurns } from '../../../../src/transport/grpc/wire/slice-turns.ts';

const NEVER = new AbortController().signal;
const LARGE = 256 * 1024;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('lets a connection with one reader go before the hundreds of another', async () => {
  const turns = new SliceTurns();
  const [crowd, alone] = [{}, {}];
  const order: string[] = [];
  const take = (connection: object, name: string): void => {
    const wait = turns.take(connection, LARGE, NEVER) ?? Promise.resolve();
    void wait.then(() => order.push(name));
  };
  for (let n = 0; n < 200; n++) take(crowd, 'crowd');
  take(alone, 'alone');
  await turn();
  await turn();
  expect(order).toContain('alone');
  expect(order.length).toBeLessThan(10);
  while (order.length < 201) await turn();
});

it('leaves nothing on the signal of a stream, however long that lasts', async () => {
  const turns = new SliceTurns();
  const [connection, stream] = [{}, new AbortController()];
  let waits = 0;
  for (let n = 0; n < 100; n++) {
    const wait = turns.take(connection, LARGE, stream.signal);
    if (wait !== undefined) waits++;
    await wait;
  }
  expect(waits).toBeGreaterThan(0);
  expect(getEventListeners(stream.signal, 'abort')).toEqual([]);
});

it('forgets a reader that has gone, with its reason', async () => {
  const turns = new SliceTurns();
  const connection = {};
  const gone = new AbortController();
  while (turns.take(connection, LARGE, NEVER) === undefined);
  const waiting = turns.take(connection, LARGE, gone.signal);
  gone.abort(new Error('the reader has gone'));
  await expect(waiting).rejects.toThrow('the reader has gone');
  await turn();
  expect(turns.take(connection, LARGE, NEVER)).toBeUndefined();
});
