// Goal: what has arrived is begun by connection in turn, a few calls in each turn of the event loop (T10). Method:
// turns that come when the test says so.
import { beforeEach, expect, it } from 'vitest';
import { Rounds, type Waiting } from '../../../../src/transport/grpc/wire/rounds.ts';
import { Line } from '../../../../src/transport/turns-by-line.ts';

let nowMs: number;
let turns: (() => void)[];
let begun: string[];
let rounds: Rounds;

beforeEach(() => {
  nowMs = 0;
  turns = [];
  begun = [];
  rounds = new Rounds({ time: { nowMs: () => nowMs, later: (work) => turns.push(work) } });
});

function turn(): void {
  for (const work of turns.splice(0)) work();
}

function begin(line: Line<Waiting>, name: string, tookMs = 0): Waiting | undefined {
  return rounds.begin(line, () => {
    nowMs += tookMs;
    begun.push(name);
  });
}

/** Uses up the turn. */
function fill(line: Line<Waiting>): void {
  while (begin(line, 'before') === undefined);
}

it('begins a call at once when nobody waits', () => {
  expect(begin(new Line(), 'one')).toBeUndefined();
  expect([begun, rounds.waiting]).toEqual([['one'], 0]);
});

it('begins so many in a turn, and goes on in the next', () => {
  const line = new Line<Waiting>();
  for (let n = 0; n < 200; n++) begin(line, String(n));
  const counts = [begun.length];
  for (; turns.length > 0; turn()) counts.push(begun.length);
  expect(counts).toEqual([64, 64, 128, 192, 200]);
  expect(begun).toEqual(Array.from({ length: 200 }, (_, n) => String(n)));
});

it('begins no more when what it has begun took long', () => {
  const line = new Line<Waiting>();
  for (let n = 0; n < 4; n++) begin(line, String(n), 3);
  expect(begun).toEqual(['0', '1']);
  turn();
  expect(begun).toEqual(['0', '1', '2', '3']);
});

it('goes by connection in turn, however many one of them has waiting', () => {
  const [many, few, other] = [new Line<Waiting>(), new Line<Waiting>(), new Line<Waiting>()];
  fill(many);
  for (let n = 0; n < 1_000; n++) begin(many, 'many');
  begin(few, 'few 1');
  begin(few, 'few 2');
  begin(other, 'other');
  begun.length = 0;
  turn();
  expect(begun.slice(0, 6)).toEqual(['before', 'few 1', 'other', 'many', 'few 2', 'many']);
});

it('does nothing for a call that need not be begun any more', () => {
  const line = new Line<Waiting>();
  fill(line);
  const waiting = begin(line, 'forgotten');
  begin(line, 'kept');
  begun.length = 0;
  waiting?.forget();
  waiting?.forget();
  const left = rounds.waiting;
  turn();
  waiting?.forget();
  expect([begun, left, rounds.waiting]).toEqual([['before', 'kept'], 2, 0]);
});
