// Goal: a connection may send the bytes of its requests, an eighth of our replies, 1 MiB, and 256 KiB a second. Method:
// counts of a socket with fake timers.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FrameFloods, type RequestBytes } from '../../../src/transport/frame-floods.ts';

const MIB = 2 ** 20;
const KIB = 2 ** 10;
const STEP_MS = 100;
const STEP_BYTES = 25 * KIB;

class CountedSocket extends EventEmitter {
  bytesRead = 0;
  bytesWritten = 0;
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

let floods: FrameFloods;
let counted: CountedSocket;
let requestBytes: RequestBytes;
let ended: object[];

beforeEach(() => {
  vi.useFakeTimers();
  ended = [];
  floods = new FrameFloods((socket) => ended.push(socket));
  counted = new CountedSocket();
  // A connection of TLS has exchanged bytes before it is watched.
  Object.assign(counted, { bytesRead: 3 * MIB, bytesWritten: 3 * MIB });
  const socket: object = counted;
  requestBytes = floods.watch(socket as Socket);
});

afterEach(() => {
  counted.destroy();
  vi.useRealTimers();
});

interface Step {
  readonly read: number;
  readonly sent?: number;
  readonly requests?: number;
}

function step({ read, sent = 0, requests = 0 }: Step): boolean {
  counted.bytesRead += read;
  counted.bytesWritten += sent;
  requestBytes.count += requests;
  vi.advanceTimersByTime(STEP_MS);
  return !counted.destroyed;
}

const repeat = (count: number, one: Step): readonly Step[] => Array.from({ length: count }, () => one);

it.each<[string, readonly Step[]]>([
  ['a MiB beside its requests', [{ read: MIB }]],
  ['256 KiB a second for a minute', repeat(600, { read: STEP_BYTES })],
  ['64 MiB of requests', repeat(64, { read: MIB, requests: MIB })],
  ['an eighth of what it receives', repeat(64, { read: MIB, sent: 8 * MIB })],
  ['a MiB again when 4 s have refilled what it may send', [{ read: MIB }, ...repeat(40, { read: 0 }), { read: MIB }]],
])('a connection stays open that sends %s', (_what, steps) => {
  expect(steps.map(step)).toEqual(steps.map(() => true));
  expect(ended).toEqual([]);
});

it.each<[string, readonly Step[]]>([
  ['more than a MiB at once', [{ read: MIB + 2 * STEP_BYTES }]],
  ['384 KiB a second for a minute', repeat(600, { read: 1.5 * STEP_BYTES })],
  ['twice the bytes of its requests', repeat(3, { read: MIB, requests: MIB / 2 })],
  ['a quarter of what it receives', repeat(3, { read: MIB, sent: 4 * MIB })],
  ['2 MiB after a minute without a byte', [...repeat(600, { read: 0 }), { read: 2 * MIB }]],
  ['2 MiB after replies of 64 MiB, one look later', [{ read: 0, sent: 64 * MIB }, { read: 2 * MIB }]],
])('a connection is closed that sends %s', (_what, steps) => {
  expect(steps.map(step).at(-1)).toBe(false);
  expect(ended).toEqual([counted]);
});
