// However much arrives at once, a turn of the event loop gets few streams, and every connection gets its turn (T13):
// first at turns of the test, then over real connections that send hundreds of calls in one write.
import { channel } from 'node:diagnostics_channel';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type ReadHandle, ReadingTurns } from '../../../../src/transport/grpc/wire/reading-turns.ts';
import { until } from '../../../support/budget-time.ts';
import { type Frame, frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { HELLO, startSmallService } from '../../../support/small-service.ts';

const PER_TURN = 10;

/** A connection that has sent so many streams, of which one read brings a few. */
class Sender implements ReadHandle {
  isRead = true;
  writeQueueSize = 0;
  left: number;
  readonly name: string;

  constructor(name: string, left: number) {
    this.name = name;
    this.left = left;
  }

  readStop(): void {
    this.isRead = false;
  }

  readStart(): void {
    this.isRead = true;
  }
}

describe('the turns of reading', () => {
  let later: (() => void)[];
  let turns: ReadingTurns;
  /** Who was read in each turn of the loop. */
  let read: string[];

  beforeEach(() => {
    later = [];
    read = [];
    turns = new ReadingTurns({ perTurn: PER_TURN, later: (work) => later.push(work) });
  });

  /** A turn of the event loop, in which the kernel names the senders in the same order. */
  function turn(senders: readonly Sender[], perRead: number): void {
    let names = '';
    for (const sender of senders) {
      const count = Math.min(sender.left, perRead);
      if (!sender.isRead || count === 0) continue;
      names += sender.name;
      sender.left -= count;
      for (let n = 0; n < count; n += 1) turns.came(sender);
    }
    read.push(names);
    for (const work of later.splice(0)) work();
  }

  function begin(...lefts: number[]): readonly Sender[] {
    const senders = lefts.map((left, at) => new Sender('abcdef'[at] ?? '', left));
    for (const sender of senders) turns.opened(sender);
    return senders;
  }

  it('read everybody while few streams come', () => {
    const senders = begin(9, 9, 9);
    for (let n = 0; n < 3; n += 1) turn(senders, 3);
    expect(read).toEqual(['abc', 'abc', 'abc']);
    expect(later).toEqual([]);
  });

  it('read nobody any more when too many have come, and first those who were not read', () => {
    const senders = begin(40, 40, 40, 3);
    for (let n = 0; n < 10; n += 1) turn(senders, 10);
    expect(read.slice(0, 9)).toEqual(['a', 'b', 'c', 'd', 'a', 'b', 'c', '', 'a']);
  });

  it('leave alone who does not take its answers: node:http2 has stopped to read it', () => {
    const [one, unread] = begin(20, 1);
    if (one === undefined || unread === undefined) throw new Error('There are two senders');
    unread.writeQueueSize = 1;
    unread.isRead = false;
    for (let n = 0; n < 3; n += 1) turn([one, unread], 10);
    expect([read, unread.isRead]).toEqual([['a', 'a', ''], false]);
  });
});

/** The most streams that came in one turn of the event loop, told after the test's own work. */
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

describe('a server', () => {
  it('takes the calls of many connections in many turns, and answers all of them (T13)', async () => {
    const [connections, calls] = [10, 600];
    const limits = { streamsAtFirst: 2 * calls, callsMax: { waiting: 9, reading: 9, working: 50_000 } };
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
    await until(() => opened.every(({ settings }) => settings.length === 2));
    const most = countTurns();

    for (const frames of opened) frames.write(all);

    // Headers, a message and trailers, and two settings before all of them.
    await until(() => opened.every(({ received }) => received.length >= 3 * calls + 2));
    const isEnd = ({ type, flags }: Frame): boolean => type === 1 && flags === 5;
    expect(opened.map(({ received }) => received.filter(isEnd).length)).toEqual(Array(connections).fill(calls));
    expect(most()).toBeLessThanOrEqual(256 + perRead);
    await Promise.all(opened.map((frames) => frames[Symbol.asyncDispose]()));
  });
});
