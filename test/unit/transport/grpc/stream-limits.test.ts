// Goal: a connection has a limited number of open streams, and ends when most of its calls are cancelled (T12). Method:
// the limits alone with fake timers.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConnectionStreams } from '../../../../src/transport/grpc/wire/stream-limits.ts';

const MOST = 50;

let streams: ConnectionStreams;
let waits: string[];

beforeEach(() => {
  vi.useFakeTimers();
  const seen = (waiting: string) => void waits.push(waiting);
  waits = [];
  streams = new ConnectionStreams(MOST, { waits: seen, works: () => seen('works') });
});

afterEach(() => void vi.useRealTimers());

it('a connection may have twice its streams open, because cancelled ones close later than new ones open', () => {
  const open = (count: number): number => Array.from({ length: count }, () => streams.tryOpen()).filter(Boolean).length;
  expect(open(2 * MOST + 1)).toBe(2 * MOST);
  for (let n = 0; n < MOST; n++) streams.closed(true);
  expect(open(2 * MOST)).toBe(MOST);
});

it.each([
  [400, 0, true],
  [1_500, 0, false],
  [6_000, 5_600, true],
  [6_000, 3_000, false],
])(
  'a connection whose client cancels %d calls a second for a long time while %d are answered is kept: %s',
  (cancelled, answered, isKept) => {
    let keeps = true;
    const close = (perSecond: number, isAnswered: boolean): void => {
      for (let n = 0; n < perSecond / 100; n++) keeps = streams.tryOpen() && streams.closed(isAnswered) && keeps;
    };
    for (let ms = 0; ms < 20_000; ms += 10) {
      close(cancelled, false);
      close(answered, true);
      vi.advanceTimersByTime(10);
    }
    expect(keeps).toBe(isKept);
  },
);

it.each([
  ['its', MOST, 2 * MOST],
  ['more', 4 * MOST, 8 * MOST],
])('a connection with %s streams may have twice as many cancelled at once', (_name, raised, cancelled) => {
  streams.lasting(MOST / 2, raised);
  for (let n = 0; n < cancelled; n++) streams.tryOpen();
  const kept = Array.from({ length: cancelled }, () => streams.closed(false));
  expect(kept).not.toContain(false);
  expect(streams.tryOpen() && streams.closed(false)).toBe(false);
});

it('a connection gets more streams once, when half of its streams are long calls', () => {
  const told: number[] = [];
  streams.onRaise = (most) => void told.push(most);
  for (let calls = 1; calls < 3 * MOST; calls++) streams.lasting(calls, 4 * MOST);
  expect(told).toEqual([4 * MOST]);
  const open = Array.from({ length: 9 * MOST }, () => streams.tryOpen()).filter(Boolean).length;
  expect(open).toBe(8 * MOST);
});

it('a connection waits for a body while no request is complete, and works while one is answered', () => {
  const step = (act: () => unknown): readonly string[] => {
    waits = [];
    act();
    return waits;
  };
  expect(step(() => streams.tryOpen())).toEqual(['body']);
  // It has waited as long as before.
  expect(step(() => streams.tryOpen())).toEqual([]);
  expect(step(() => streams.cameWhole())).toEqual(['works']);
  streams.closed(true);
  expect(step(() => streams.cameWhole())).toEqual(['works']);
  expect(step(() => streams.closed(true))).toEqual(['idle']);
});
