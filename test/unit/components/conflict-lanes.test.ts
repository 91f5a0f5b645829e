// Goal: commands that have lost a conflict try again one at a time, in the order of their loss, and leave no entries
// (F23). Method: turns that the test takes and ends, and signals that it aborts.
import { expect, it } from 'vitest';
import { type Constraint, term } from '#model';
import { ConflictLanes, type LaneTurn, laneOf } from '../../../src/components/conflict-lanes.ts';

const A = laneOf('db', guard('a'));

function guard(subject: string, revision: number = 7): Constraint {
  return { kind: 'max-revision', revision, selector: term('by-subject', subject) };
}

/** Requests turns, and lists the names that have one. */
class Turns {
  readonly lanes: ConflictLanes = new ConflictLanes();
  readonly #given: Map<string, LaneTurn> = new Map();
  readonly refused: unknown[] = [];

  async ask(name: string, lane: string, signal?: AbortSignal): Promise<void> {
    try {
      this.#given.set(name, await this.lanes.turn(lane, signal));
    } catch (reason) {
      this.refused.push([name, reason]);
    }
  }

  async having(): Promise<readonly string[]> {
    await settled();
    return [...this.#given.keys()];
  }

  async end(name: string): Promise<readonly string[]> {
    const turn = this.#given.get(name);
    // Ending a turn again has no effect.
    for (const _ of ['ends', 'again']) turn?.[Symbol.dispose]();
    this.#given.delete(name);
    return this.having();
  }
}

async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await Promise.resolve();
}

it('lanes of commands after a conflict give turns in the order of requests, one at a time (F23)', async () => {
  const turns = new Turns();
  for (const name of ['first', 'second', 'third']) void turns.ask(name, A);
  void turns.ask('in another lane', laneOf('db', guard('b')));
  expect(await turns.having()).toEqual(['first', 'in another lane']);
  expect(await turns.end('in another lane')).toEqual(['first']);
  expect(await turns.end('first')).toEqual(['second']);
  void turns.ask('fourth', A);
  expect(await turns.end('second')).toEqual(['third']);
  expect(await turns.end('third')).toEqual(['fourth']);
  expect(turns.lanes.size).toBe(1);
  expect(await turns.end('fourth')).toEqual([]);
  expect(turns.lanes.size).toBe(0);
});

it('lanes of commands after a conflict drop a command when its signal fires while it waits', async () => {
  const turns = new Turns();
  const [early, late, never] = [new AbortController(), new AbortController(), new AbortController()];
  void turns.ask('first', A, late.signal);
  void turns.ask('gone', A, early.signal);
  void turns.ask('third', A, never.signal);
  await settled();
  const gone = new Error('gone');
  early.abort(gone);
  // A command that has a turn keeps it until it ends: its work gets the signal itself.
  late.abort('late');
  expect(await turns.having()).toEqual(['first']);
  expect(turns.refused).toEqual([['gone', gone]]);
  expect(await turns.end('first')).toEqual(['third']);
  await turns.ask('too late', A, early.signal);
  expect(turns.refused).toEqual([
    ['gone', gone],
    ['too late', gone],
  ]);
  never.abort('over');
  expect(await turns.end('third')).toEqual([]);
  expect(turns.lanes.size).toBe(0);
});

it('lanes of commands after a conflict are those of a selector in a database, for any revision, or of a whole database', async () => {
  const lanes = new ConflictLanes();
  expect(lanes.busy('db', [guard('a')])).toBeUndefined();
  const turn = await lanes.turn(A, undefined);
  expect(lanes.busy('db', [guard('b'), guard('a', 99)])).toBe(A);
  expect(lanes.busy('db', [guard('b')])).toBeUndefined();
  expect(lanes.busy('other', [guard('a')])).toBeUndefined();
  expect(lanes.busy('db', [{ kind: 'max-revision', revision: 7 }])).toBeUndefined();
  turn[Symbol.dispose]();
  const whole = await lanes.turn(laneOf('db', { kind: 'max-revision', revision: 7 }), undefined);
  expect(lanes.busy('db', [guard('a')])).toBeUndefined();
  expect(lanes.busy('db', [{ kind: 'max-revision', revision: 99 }])).toBe('db');
  whole[Symbol.dispose]();
  expect(lanes.busy('db', [guard('a')])).toBeUndefined();
});
