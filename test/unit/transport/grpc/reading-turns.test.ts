// Goal: a turn of the event loop accepts few streams, and every connection gets its turn (T13). Method: connections
// that send many calls at once; a count of streams in each turn.
import { channel } from 'node:diagnostics_channel';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../../support/budget-time.ts';
import { type Frame, frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { HELLO, startSmallService } from '../../../support/small-service.ts';

function countTurns(): () => number {
  const created = channel('http2.server.stream.created');
  let [most, now] = [0, 0];
  const count = (): void => {
    if (now === 0) setImmediate(() => (now = 0));
    now += 1;
    most = Math.max(most, now);
  };
  created.subscribe(count);
  onTestFinished(() => {
    created.unsubscribe(count);
  });
  return () => most;
}

it('a server accepts the calls of many connections in many turns, and answers all of them (T13)', async () => {
  const [connections, calls] = [10, 600];
  const limits = { streamsPerConnectionMax: 2 * calls };
  const at = await startSmallService({ limits });
  onTestFinished(() => at[Symbol.asyncDispose]());
  const head = grpcHeaders('/test.Service/Echo');
  const asks = Array.from({ length: calls }, (_, n) => {
    const stream = 2 * n + 1;
    const headers = frameOf({ type: 1, flags: 4, stream, payload: head });
    return Buffer.concat([headers, frameOf({ type: 0, flags: 1, stream, payload: HELLO })]);
  });
  const all = Buffer.concat(asks);
  const perRead = Math.ceil((64 * 1024 * calls) / all.length);
  const opened = await Promise.all(Array.from({ length: connections }, () => openFrames(at.port)));
  await until(() => opened.every(({ received }) => received.length >= 2));
  const most = countTurns();

  for (const frames of opened) frames.write(all);

  // Only answers count, because the number of window updates between them varies.
  const isEnd = ({ type, flags }: Frame): boolean => type === 1 && flags === 5;
  const ends = (): number[] => opened.map(({ received }) => received.filter(isEnd).length);
  await until(() => ends().every((count) => count >= calls));
  expect(ends()).toEqual(Array(connections).fill(calls));
  expect(most()).toBeLessThanOrEqual(256 + perRead);
  await Promise.all(opened.map((frames) => frames[Symbol.asyncDispose]()));
});
