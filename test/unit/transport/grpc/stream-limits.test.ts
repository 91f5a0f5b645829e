// A connection gets more streams only while the node keeps up (T11), and twice as many in a turn (T12).
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Session, StreamLimits, type Verdict } from '../../../../src/transport/grpc/wire/stream-limits.ts';

const FIRST = 8;
const MOST = 50;
const TURN_MS = 10;

class TestSession extends EventEmitter implements Session {
  readonly told: number[] = [];
  pendingSettingsAck = false;
  destroyed = false;
  closed = false;

  settings({ maxConcurrentStreams }: { readonly maxConcurrentStreams?: number }): void {
    this.told.push(maxConcurrentStreams ?? Number.NaN);
  }
}

let isBehind: boolean;
let lasting: number;
let limits: StreamLimits;
let session: TestSession;

beforeEach(() => {
  vi.useFakeTimers();
  isBehind = false;
  lasting = 0;
  session = new TestSession();
  limits = new StreamLimits({ first: FIRST, most: MOST, isBehind: () => isBehind, lasting: () => lasting });
});

afterEach(() => {
  limits.close();
  vi.useRealTimers();
});

function turn(): void {
  vi.advanceTimersByTime(TURN_MS);
}

function open(count: number): readonly Verdict[] {
  return Array.from({ length: count }, () => limits.opened(session));
}

function close(count: number, isCancelled = false): void {
  for (let n = 0; n < count; n++) limits.closed(session, { isCancelled });
}

it('a connection gets the most once, when half are open and it has acknowledged what it was told before', () => {
  for (let n = 0; n < 100; n++) {
    open(3);
    turn();
    close(3);
  }
  session.pendingSettingsAck = true;
  open(4);
  turn();
  expect(session.told).toEqual([]);
  session.pendingSettingsAck = false;
  turn();
  open(20);
  turn();
  turn();
  expect([session.told, vi.getTimerCount()]).toEqual([[MOST], 0]);
});

it.each([
  ['no call waits any more', () => (isBehind = false)],
  ['more than half of its calls last', () => (lasting = 5)],
])('a connection gets no more while calls wait to be begun, until %s', (_what, change) => {
  isBehind = true;
  lasting = 4;
  open(FIRST);
  turn();
  expect(session.told).toEqual([]);
  change();
  turn();
  expect(session.told).toEqual([MOST]);
});

it('a connection is forgotten when it closes', () => {
  open(4);
  session.emit('close');
  turn();
  expect([session.told, vi.getTimerCount()]).toEqual([[], 0]);
});

it('the streams of a turn (T12) do not end the connection of who cancels 3,000 a second for long, and do when there are twice as many', () => {
  limits = new StreamLimits({ first: 1_000, most: 1_000, isBehind: () => false, lasting: () => 0 });
  const verdicts = (perSecond: number): ReadonlySet<Verdict> => {
    const seen = new Set<Verdict>();
    for (let ms = 0; ms < 20_000; ms += 20) {
      const all = open((perSecond * 20) / 1_000);
      for (const verdict of all) seen.add(verdict);
      close(all.filter((verdict) => verdict === 'taken').length, true);
      vi.advanceTimersByTime(20);
    }
    return seen;
  };
  expect(verdicts(3_000)).toEqual(new Set(['taken', 'refused']));
  expect(verdicts(6_000)).toEqual(new Set(['taken', 'refused', 'flood']));
});

it('all connections get 256 more in a turn, after what was left to one of them, and all of them in time', () => {
  limits = new StreamLimits({ first: FIRST, most: FIRST + 512, isBehind: () => false, lasting: () => 0 });
  const sessions = Array.from({ length: 10 }, () => new TestSession());
  for (const each of sessions) for (let n = 0; n < FIRST; n++) limits.opened(each);
  const given = (): number => sessions.filter(({ told }) => told.length > 0).length;
  turn();
  expect(given()).toBe(1);
  turn();
  expect(given()).toBe(1);
  turn();
  expect(given()).toBe(2);
  for (let n = 0; n < 2 * sessions.length; n++) turn();
  expect(given()).toBe(sessions.length);
});
