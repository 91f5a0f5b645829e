// Goal: whatever the order of proposals, disk completions, applications, reads, ticks and crashes, a group of one voter
// keeps R1 to R8, loses nothing that was handed out, and answers every read at a state that contains everything handed
// out before it arrived. Method: random schedules on a model disk that forgets unfinished writes in a crash.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assert, toTerm } from '#base';
import {
  type Config,
  checkState,
  checkStep,
  type Effect,
  type Entry,
  type HardState,
  type Input,
  membershipOf,
  ORIGIN,
  openReplica,
  type Persist,
  type RaftState,
  REPLICATION,
  step,
  toReplicaId,
} from '#raft';
import { runs } from '../../support/runs.ts';

const SELF = toReplicaId(1);
const CONFIG: Config = {
  self: SELF,
  electionWindowMs: 100,
  electionJitterMs: 50,
  uncommittedBytesMax: 40,
  pendingReadsMax: 5,
  replication: REPLICATION,
};

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('propose' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('disk' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('apply' as const), count: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('tick' as const), byMs: fc.nat(200) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('campaign' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), torn: fc.nat(3) }) },
);

/** A replica, its disk and its state machine; the state machine forgets what was not checkpointed, as ours does. */
class World {
  #nowMs = 0;
  #state: RaftState;
  #disk: { hardState: HardState; entries: readonly Entry[] } = {
    hardState: { term: toTerm(0), vote: undefined },
    entries: [],
  };
  #writing: Persist[] = [];
  #toApply: Entry[] = [];
  #applied: readonly Entry[] = [];
  /** Everything that was ever handed out; nothing of it may change or disappear. */
  readonly #handedOut: Entry[] = [];
  readonly #readsAt = new Map<number, number>();
  #readId = 0;
  #payload = 0;

  constructor() {
    this.#state = this.#open();
  }

  run(each: typeof action extends fc.Arbitrary<infer A> ? A : never): void {
    switch (each.kind) {
      case 'propose':
        return this.#step({ kind: 'propose', payloads: Array.from({ length: each.count }, () => this.#newPayload()) });
      case 'disk':
        return this.completeWrite();
      case 'apply':
        return this.apply(each.count);
      case 'read':
        this.#readId += 1;
        this.#readsAt.set(this.#readId, this.#handedOut.length);
        return this.#step({ kind: 'read', id: this.#readId });
      case 'tick':
        this.#nowMs += each.byMs;
        return this.#step({ kind: 'tick' });
      case 'campaign':
        return this.#step({ kind: 'campaign' });
      case 'crash':
        return this.#crash(each.torn);
    }
  }

  completeWrite(): void {
    const write = this.#writing.shift();
    if (write === undefined) return;
    this.#store(write);
    const { term, vote, index, logTerm } = write;
    this.#step({ kind: 'persisted', term, vote, index, logTerm });
  }

  apply(count: number): void {
    const entries = this.#toApply.splice(0, count);
    const last = entries.at(-1);
    if (last === undefined) return;
    this.#applied = [...this.#applied, ...entries];
    this.#step({ kind: 'applied', index: last.index });
  }

  /** Lets everything that is under way finish: elections, writes, applications. */
  settle(): void {
    for (let round = 0; round < 10; round += 1) {
      this.#nowMs += 1000;
      this.#step({ kind: 'tick' });
      while (this.#writing.length > 0) this.completeWrite();
      this.apply(Number.POSITIVE_INFINITY);
    }
  }

  get state(): RaftState {
    return this.#state;
  }

  get applied(): readonly Entry[] {
    return this.#applied;
  }

  #open(): RaftState {
    const { hardState, entries } = this.#disk;
    const state = openReplica(
      CONFIG,
      membershipOf([SELF]),
      { hardState, base: ORIGIN, entries },
      { nowMs: this.#nowMs, seed: 3 },
    );
    checkState(state);
    return state;
  }

  /** The first `torn` unfinished writes reached the disk although nobody was told; the others did not. */
  #crash(torn: number): void {
    for (const write of this.#writing.slice(0, torn)) this.#store(write);
    this.#writing = [];
    this.#toApply = [];
    this.#applied = [];
    this.#state = this.#open();
  }

  #store(write: Persist): void {
    const hardState = write.hardState ?? this.#disk.hardState;
    this.#disk = { hardState, entries: [...this.#disk.entries, ...write.entries] };
  }

  #step(input: Input): void {
    const before = this.#state;
    const result = step(before, input, this.#nowMs);
    checkStep(before, input, result);
    this.#state = result.state;
    for (const effect of result.effects) this.#take(effect);
  }

  #take(effect: Effect): void {
    if (effect.kind === 'persist') this.#writing.push(effect);
    if (effect.kind === 'apply') for (const entry of effect.entries) this.#handOut(entry);
    if (effect.kind === 'read-ready') {
      const seen = this.#readsAt.get(effect.id) ?? Number.NaN;
      assert(effect.index >= seen, 'A read sees everything handed out before it arrived', [effect.index, seen]);
    }
  }

  #handOut(entry: Entry): void {
    const known = this.#handedOut[entry.index - 1];
    assert(known === undefined || known === entry, 'What was handed out once is never another entry', entry.index);
    assert(this.#disk.entries.includes(entry), 'What is handed out is on disk', entry.index);
    this.#handedOut[entry.index - 1] = entry;
    this.#toApply.push(entry);
  }

  #newPayload(): Uint8Array {
    this.#payload += 1;
    return new Uint8Array(1 + (this.#payload % 8));
  }
}

describe('a group of one voter', () => {
  it('keeps R1 to R8 under any schedule, and everything handed out survives every crash', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const world = new World();
        for (const each of actions) world.run(each);
        world.settle();
        expect(world.state.role.kind).toBe('leader');
        expect(world.state.applied).toBe(world.state.log.persisted);
        expect(world.applied.map((entry) => entry.index)).toEqual(world.applied.map((_, at) => at + 1));
      }),
      { numRuns: runs(300) },
    );
  });
});
