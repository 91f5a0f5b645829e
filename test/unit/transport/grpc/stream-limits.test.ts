// A connection has its number of streams open, and ends when most of what it sends is in vain (T12).
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type ConnectionStreams, StreamLimits } from '../../../../src/transport/grpc/wire/stream-limits.ts';

const MOST = 50;

let streams: ConnectionStreams;

beforeEach(() => {
  vi.useFakeTimers();
  streams = new StreamLimits(MOST).of({});
});

afterEach(() => void vi.useRealTimers());

it('a connection may have twice its streams open, for cancelled ones close later than others begin', () => {
  const open = (count: number): number => Array.from({ length: count }, () => streams.tryOpen()).filter(Boolean).length;
  expect(open(2 * MOST + 1)).toBe(2 * MOST);
  for (let n = 0; n < MOST; n++) streams.closed();
  expect(open(2 * MOST)).toBe(MOST);
});

it.each([
  [1_900, true],
  [6_000, false],
])('a connection whose client cancels %d calls a second for long: it keeps it is %s', (perSecond, isKept) => {
  let keeps = true;
  for (let ms = 0; ms < 20_000; ms += 20) {
    for (let n = 0; n < (perSecond * 20) / 1_000; n++) keeps &&= streams.wastes();
    vi.advanceTimersByTime(20);
  }
  expect(keeps).toBe(isKept);
});
