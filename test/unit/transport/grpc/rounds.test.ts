// Each turn of the event loop begins few calls (T10); call-shares.test.ts shows it over connections.
import { expect, it } from 'vitest';
import { Rounds, type Waiting } from '../../../../src/transport/grpc/wire/rounds.ts';
import { Line } from '../../../../src/transport/turns-by-line.ts';

it('begins so many calls in a turn, fewer when they take long, and none that was forgotten', () => {
  let nowMs = 0;
  const turns: (() => void)[] = [];
  const rounds = new Rounds({ time: { nowMs: () => nowMs, later: (work) => turns.push(work) } });
  const line = new Line<Waiting>();
  const begun: number[] = [];
  const begin = (call: number, tookMs: number): Waiting | undefined =>
    rounds.begin(line, () => {
      nowMs += tookMs;
      begun.push(call);
    });
  for (let call = 0; call < 4; call++) begin(call, 3);
  expect([begun, rounds.waiting]).toEqual([[0, 1], 2]);
  for (const work of turns.splice(0)) work();
  expect([begun, rounds.waiting]).toEqual([[0, 1, 2, 3], 0]);
  for (const work of turns.splice(0)) work();
  begun.length = 0;
  const waiting = Array.from({ length: 200 }, (_, call) => begin(call, 0));
  for (let times = 0; times < 2; times++) waiting[100]?.forget();
  expect([begun.length, rounds.waiting]).toEqual([64, 135]);
  const counts = [];
  for (; turns.length > 0; counts.push(begun.length)) for (const work of turns.splice(0)) work();
  expect(counts).toEqual([128, 192, 199, 199]);
  expect([begun.includes(100), rounds.waiting]).toEqual([false, 0]);
});
