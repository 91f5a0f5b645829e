// Goal: connections may send more at once only while the node keeps up, or for calls that last (T11). Method:
// connections that note what they were told, and one real client.
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Session, StreamLimits } from '../../../../src/transport/grpc/wire/stream-limits.ts';

const FIRST = 8;
const MOST = 50;
const TURN_MS = 10;
const MINUTE_MS = 60_000;

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

/** One turn goes by. */
function turn(): void {
  vi.advanceTimersByTime(TURN_MS);
}

function open(count: number): void {
  for (let n = 0; n < count; n++) limits.opened(session);
}

function close(count: number): void {
  for (let n = 0; n < count; n++) limits.closed(session);
}

describe('a connection', () => {
  it('is told nothing while it has few streams', () => {
    for (let n = 0; n < 100; n++) {
      open(3);
      turn();
      close(3);
    }
    expect(session.told).toEqual([]);
  });

  it('gets twice as many whenever half are open, up to the most', () => {
    open(4);
    turn();
    turn();
    expect(session.told).toEqual([16]);
    open(4);
    turn();
    turn();
    expect(session.told).toEqual([16, 32]);
    open(100);
    turn();
    turn();
    expect(session.told).toEqual([16, 32, MOST]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is told of one change at a time', () => {
    open(4);
    turn();
    session.pendingSettingsAck = true;
    open(10);
    turn();
    expect(session.told).toEqual([16]);
    session.pendingSettingsAck = false;
    turn();
    expect(session.told).toEqual([16, 32]);
  });

  it('gets no more while calls wait to be begun, and does when none waits', () => {
    isBehind = true;
    open(FIRST);
    turn();
    expect(session.told).toEqual([]);
    isBehind = false;
    turn();
    expect(session.told).toEqual([16]);
  });

  it('gets more for calls that last, whoever waits', () => {
    isBehind = true;
    open(FIRST);
    lasting = 4;
    turn();
    expect(session.told).toEqual([]);
    lasting = 5;
    turn();
    turn();
    expect(session.told).toEqual([16]);
    open(FIRST);
    lasting = 13;
    turn();
    expect(session.told).toEqual([16, 24]);
  });

  it('has as many as at first when it had no stream for a minute', () => {
    open(4);
    turn();
    limits.sweep(performance.now() + 2 * MINUTE_MS);
    close(4);
    limits.sweep(performance.now() + MINUTE_MS / 2);
    expect(session.told).toEqual([16]);
    limits.sweep(performance.now() + 2 * MINUTE_MS);
    limits.sweep(performance.now() + 3 * MINUTE_MS);
    expect(session.told).toEqual([16, FIRST]);
  });

  it('is forgotten when it closes', () => {
    open(4);
    session.emit('close');
    turn();
    limits.sweep(performance.now() + 2 * MINUTE_MS);
    expect([session.told, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('all connections', () => {
  it('get 256 more in a turn, and all of them in time', () => {
    const sessions = Array.from({ length: 100 }, () => new TestSession());
    for (const each of sessions) for (let n = 0; n < FIRST; n++) limits.opened(each);
    const given = (): number =>
      sessions.reduce((sum, { told }) => sum + Math.max(0, (told.at(-1) ?? FIRST) - FIRST), 0);
    turn();
    expect(given()).toBe(256);
    for (let n = 0; n < 3; n++) turn();
    expect(sessions.every(({ told }) => told.length > 0)).toBe(true);
  });
});
