// Goal: a group at rest, whose heartbeats are only noted, has at every observation the state and messages of a group
// that is stepped with each of them, and is due no later (R14). Method: two copies of three replicas, random times and
// observations.
import { array, assert, constant, integer, nat, oneof, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { toGroupId, toTerm } from '#base';
import {
  type Effect,
  type Input,
  type Message,
  membershipOf,
  nextDeadline,
  ORIGIN,
  openReplica,
  type RaftState,
  REPLICATION,
  type ReplicaId,
  step,
  toReplicaId,
} from '#raft';
import { GroupRest } from '../../../../src/cluster/group/group-rest.ts';

const IDS: readonly ReplicaId[] = [1, 2, 3].map(toReplicaId);
const WINDOW_MS = 2500;
const GROUP = toGroupId(7);

interface Said {
  readonly to: ReplicaId;
  readonly message: Message;
}

/** A replica whose disk is synchronous, with or without rest. */
class Replica {
  readonly self: ReplicaId;
  readonly #rest: GroupRest | undefined;
  #state: RaftState;
  stepCount = 0;

  constructor(self: ReplicaId, rests: boolean) {
    this.self = self;
    this.#rest = rests ? new GroupRest(GROUP, self) : undefined;
    const config = {
      self,
      electionWindowMs: WINDOW_MS,
      electionJitterMs: 1000,
      uncommittedBytesMax: 1000,
      pendingReadsMax: 5,
      replication: REPLICATION,
    };
    const hardState = { term: toTerm(0), vote: undefined };
    const clock = { nowMs: 0, seed: self * 77 };
    this.#state = openReplica(config, membershipOf(IDS), { hardState, base: ORIGIN, entries: [] }, clock);
  }

  get state(): RaftState {
    this.#state = this.#rest?.settle(this.#state) ?? this.#state;
    return this.#state;
  }

  get deadlineMs(): number | undefined {
    return this.#rest === undefined ? nextDeadline(this.#state.timers) : this.#rest.deadlineMs(this.#state);
  }

  give(input: Input, nowMs: number): readonly Said[] {
    const repeated = this.#rest?.repeat(this.#state, input, nowMs);
    if (repeated !== undefined) return repeated.map(({ to, message }) => ({ to, message }));
    this.stepCount += 1;
    const { state, effects } = step(this.state, input, nowMs);
    this.#state = state;
    return effects.flatMap((effect) => this.#carryOut(effect, nowMs));
  }

  #carryOut(effect: Effect, nowMs: number): readonly Said[] {
    if (effect.kind === 'send') return [effect];
    if (effect.kind === 'apply')
      return this.give({ kind: 'applied', index: effect.entries.at(-1)?.index ?? ORIGIN.index }, nowMs);
    if (effect.kind !== 'persist') return [];
    const { term, vote, index, logTerm } = effect;
    return this.give({ kind: 'persisted', term, vote, index, logTerm }, nowMs);
  }
}

class Three {
  readonly replicas: ReadonlyMap<ReplicaId, Replica>;
  readonly said: unknown[] = [];

  constructor(rests: boolean) {
    this.replicas = new Map(IDS.map((id) => [id, new Replica(id, rests)]));
    this.give(0, { kind: 'campaign' }, 0);
  }

  /** Delivers the input and all messages that follow from it. Messages to and from `away` are lost. */
  give(who: number, input: Input, nowMs: number, away?: ReplicaId): void {
    const self = IDS[who] ?? IDS[0];
    const queue: { readonly by: ReplicaId; readonly input: Input }[] = self === undefined ? [] : [{ by: self, input }];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { by } = next;
      for (const { to, message } of this.replicas.get(by)?.give(next.input, nowMs) ?? []) {
        this.said.push([nowMs, by, to, message]);
        if (to !== away && by !== away) queue.push({ by: to, input: { kind: 'receive', from: by, message } });
      }
    }
  }

  look(who: number): RaftState | undefined {
    return this.replicas.get(IDS[who] ?? toReplicaId(1))?.state;
  }

  states(): readonly RaftState[] {
    return Array.from(this.replicas.values(), ({ state }) => state);
  }

  get stepCount(): number {
    return [...this.replicas.values()].reduce((sum, replica) => sum + replica.stepCount, 0);
  }
}

const action = oneof(
  { weight: 8, arbitrary: record({ kind: constant('pass' as const), who: nat(2), ms: integer({ min: 1, max: 700 }) }) },
  { weight: 1, arbitrary: record({ kind: constant('look' as const), who: nat(2), ms: constant(0) }) },
  { weight: 1, arbitrary: record({ kind: constant('propose' as const), who: nat(2), ms: constant(0) }) },
  { weight: 1, arbitrary: record({ kind: constant('read' as const), who: nat(2), ms: constant(0) }) },
  { weight: 1, arbitrary: record({ kind: constant('away' as const), who: nat(3), ms: constant(0) }) },
);

it('the rest of a group (R14) has the same results as steps, for any inputs in between', () => {
  assert(
    property(array(action, { maxLength: 60 }), (actions) => {
      const [stepped, rested] = [new Three(false), new Three(true)];
      let nowMs = 0;
      let away: ReplicaId | undefined;
      for (const [at, { kind, who, ms }] of actions.entries()) {
        nowMs += ms;
        if (kind === 'away') away = IDS[who];
        // An observation settles the noted times.
        else if (kind === 'look') rested.look(who);
        for (const three of [stepped, rested]) {
          if (kind === 'propose') three.give(who, { kind, payloads: [Uint8Array.of(at + 1)] }, nowMs, away);
          if (kind === 'read') three.give(who, { kind, id: at }, nowMs, away);
          if (kind !== 'pass') continue;
          for (const each of [0, 1, 2]) three.give(each, { kind: 'tick' }, nowMs, away);
        }
        for (const id of IDS) {
          const [one, other] = [stepped.replicas.get(id)?.deadlineMs, rested.replicas.get(id)?.deadlineMs];
          expect(other ?? Infinity).toBeLessThanOrEqual(one ?? Infinity);
        }
      }
      expect(rested.said).toEqual(stepped.said);
      expect(rested.states()).toEqual(stepped.states());
    }),
  );
});

it('the rest of a group (R14) takes no steps while nothing happens', () => {
  const three = new Three(true);
  for (let nowMs = 500; nowMs <= 2000; nowMs += 500) three.give(0, { kind: 'tick' }, nowMs);
  const before = three.stepCount;
  for (let nowMs = 2500; nowMs <= 60_000; nowMs += 500) three.give(0, { kind: 'tick' }, nowMs);
  expect(three.stepCount - before).toBe(0);
  expect(three.said.length).toBeGreaterThan(400);
});
