// Goal: calls, slices and long work start by connection in turn, a little in each turn of the event loop (T10, TH11).
// Method: the queue alone with scripted turns.
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { type Waiting, WorkQueue } from '../../../src/transport/work-queue.ts';

const NEVER = new AbortController().signal;
const LARGE = 256 * 1024;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('serves a connection with one reader before the hundreds of another', async () => {
  const turns = new WorkQueue();
  const [crowd, alone] = [{}, {}];
  const order: string[] = [];
  const take = (connection: object, name: string): void => {
    const wait = turns.slice(connection, LARGE, NEVER) ?? Promise.resolve();
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

it('leaves no listener on the signal of a stream, for any duration', async () => {
  const turns = new WorkQueue();
  const [connection, stream] = [{}, new AbortController()];
  let waits = 0;
  for (let n = 0; n < 100; n++) {
    const wait = turns.slice(connection, LARGE, stream.signal);
    if (wait !== undefined) waits++;
    await wait;
  }
  expect(waits).toBeGreaterThan(0);
  expect(getEventListeners(stream.signal, 'abort')).toEqual([]);
});

it('drops a reader that has left, with its reason', async () => {
  const turns = new WorkQueue();
  const connection = {};
  const gone = new AbortController();
  while (turns.slice(connection, LARGE, NEVER) === undefined);
  const waiting = turns.slice(connection, LARGE, gone.signal);
  gone.abort(new Error('the reader has gone'));
  await expect(waiting).rejects.toThrow('the reader has gone');
  await turn();
  expect(turns.slice(connection, LARGE, NEVER)).toBeUndefined();
});

it('starts a limited number of calls in a turn, fewer when they take long, and none that was dropped', () => {
  let nowMs = 0;
  const turns: (() => void)[] = [];
  const queue = new WorkQueue({ nowMs: () => nowMs, later: (work) => turns.push(work) });
  const connection = {};
  const begun: number[] = [];
  const begin = (call: number, tookMs: number): Waiting | undefined =>
    queue.begin(connection, () => {
      nowMs += tookMs;
      begun.push(call);
    });
  for (let call = 0; call < 4; call++) begin(call, 3);
  expect(begun).toEqual([0, 1]);
  for (const work of turns.splice(0)) work();
  expect(begun).toEqual([0, 1, 2, 3]);
  for (const work of turns.splice(0)) work();
  begun.length = 0;
  const waiting = Array.from({ length: 200 }, (_, call) => begin(call, 0));
  for (let times = 0; times < 2; times++) waiting[100]?.forget();
  const counts = [begun.length];
  for (; turns.length > 0; counts.push(begun.length)) for (const work of turns.splice(0)) work();
  expect(counts.slice(0, 4)).toEqual([64, 128, 192, 199]);
  expect(begun).not.toContain(100);
});

it('runs long work a few milliseconds per turn, and passes on results and errors', async () => {
  let nowMs = 0;
  const queue = new WorkQueue({ nowMs: () => nowMs, later: setImmediate });
  const done: number[] = [];
  const pieces = [1, 2, 3, 4, 5, 6].map((piece) =>
    queue.run({}, () => {
      nowMs += 4;
      done.push(piece);
      if (piece === 3) throw new Error('broken');
      return piece;
    }),
  );
  const ended = Promise.allSettled(pieces);
  const seen = [done.join('')];
  for (; done.length < 6; seen.push(done.join(''))) await turn();
  expect(seen).toEqual(['12', '1234', '123456']);
  const results = (await ended).map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)));
  expect(results).toEqual([1, 2, 'Error: broken', 4, 5, 6]);
});
