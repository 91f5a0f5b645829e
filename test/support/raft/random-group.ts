// Random schedules for a group of replicas: the possible actions, and their execution.
//
// An action names a replica or message by a number, taken modulo the available ones, so that every schedule is
// meaningful and shrinks well. The network may lose, duplicate, delay and reorder messages; a crash loses unsynced
// data.
import * as fc from 'fast-check';
import { assert, toLogIndex } from '#base';
import {
  type Config,
  type Effect,
  type Input,
  membershipOf,
  nextDeadline,
  REPLICATION,
  type ReplicaId,
  type Target,
  toReplicaId,
} from '#raft';
import { checkGroup } from './group-invariants.ts';
import {
  answer,
  apply,
  compact,
  crash,
  deliver,
  drop,
  give,
  replicaOf,
  start,
  type Turn,
  type World,
  worldOf,
  write,
} from './world.ts';

const who: fc.Arbitrary<number> = fc.nat(4);
function act<K extends string>(kind: K): fc.Arbitrary<Action<K>> {
  return fc.record({ kind: fc.constant(kind), who, at: fc.nat(1000) });
}

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 30, arbitrary: act('deliver') },
  { weight: 12, arbitrary: act('deliver-first') },
  { weight: 3, arbitrary: act('double') },
  { weight: 4, arbitrary: act('lose') },
  { weight: 2, arbitrary: act('cut-off') },
  { weight: 14, arbitrary: act('write') },
  { weight: 6, arbitrary: act('apply') },
  { weight: 4, arbitrary: act('storage') },
  { weight: 10, arbitrary: act('propose') },
  { weight: 3, arbitrary: act('read') },
  { weight: 4, arbitrary: act('time') },
  { weight: 3, arbitrary: act('campaign') },
  { weight: 1, arbitrary: act('depose') },
  { weight: 2, arbitrary: act('crash') },
  { weight: 3, arbitrary: act('compact') },
  { weight: 5, arbitrary: act('change') },
  { weight: 2, arbitrary: act('transfer') },
  { weight: 1, arbitrary: act('forget') },
  { weight: 1, arbitrary: act('unreachable') },
  { weight: 4, arbitrary: act('settle') },
);

export interface Action<K extends string = string> {
  readonly kind: K;
  readonly who: number;
  readonly at: number;
}

export interface Schedule {
  readonly members: number;
  readonly actions: readonly Action[];
}

export const schedule: fc.Arbitrary<Schedule> = fc.record({
  members: fc.integer({ min: 1, max: 5 }),
  actions: fc.array(action, { maxLength: 300, size: 'max' }),
});

const ALL: readonly ReplicaId[] = [1, 2, 3, 4, 5].map(toReplicaId);
const WINDOW_MS = 100;
/** More turns than a group without faults needs. */
const TURNS_MAX = 20_000;

function configOf(self: ReplicaId): Config {
  return {
    self,
    electionWindowMs: WINDOW_MS,
    electionJitterMs: 100,
    uncommittedBytesMax: 40,
    pendingReadsMax: 5,
    replication: {
      ...REPLICATION,
      beatMs: 20,
      appendBytesMax: 6,
      // Some replicas gather small entries, others send them immediately.
      gatherBytes: self % 2 === 0 ? 0 : 4,
      inFlightMessagesMax: 3,
      inFlightBytesMax: 20,
      retainedBytesMax: 200,
      catchUpEntriesMax: 3,
    },
  };
}

export class RandomGroup {
  #world: World;
  #payload = 0;
  #readId = 0;
  /** The replica that was asked, and the commit index at that time. A read ends with the process of its replica. */
  readonly #reads = new Map<number, { readonly by: ReplicaId; readonly seen: number }>();

  /** Initially, the first `members` of five replicas are voters. */
  constructor(members: number) {
    const membership = membershipOf(ALL.slice(0, members));
    this.#world = worldOf(ALL.map((self) => ({ config: configOf(self), membership })));
  }

  run({ kind, who: number, at }: Action): void {
    const id = this.#aim(kind, ALL[number] ?? toReplicaId(1), at);
    switch (kind) {
      case 'deliver':
      case 'deliver-first':
      case 'double':
      case 'lose':
        this.#carry(kind, kind === 'deliver-first' ? 0 : at);
        break;
      case 'cut-off': {
        const network = this.#world.network.filter(({ from, to }) => from !== id && to !== id);
        this.#world = { ...this.#world, network };
        break;
      }
      case 'write':
        this.#take(write(this.#world, id));
        break;
      case 'apply':
        this.#take(apply(this.#world, id, 1 + (at % 4)));
        break;
      case 'storage':
        this.#take(answer(this.#world, id));
        break;
      case 'time':
        this.#world = { ...this.#world, nowMs: this.#world.nowMs + (at % 120) };
        this.#give(id, { kind: 'tick' });
        break;
      case 'crash':
        this.#world = start(crash(this.#world, id, at % 3), id);
        for (const [read, { by }] of this.#reads) if (by === id) this.#reads.delete(read);
        break;
      case 'compact':
        this.#world = compact(this.#world, id, toLogIndex(at % 30));
        break;
      case 'settle':
        this.#settle(60);
        break;
      default:
        this.#give(id, this.#input(kind, id, at));
    }
    checkGroup(this.#world);
  }

  /** Ends all faults: messages arrive, disks write, time passes, and a client sends a request. */
  heal(): void {
    for (let round = 0; round < 40; round += 1) {
      this.#settle(TURNS_MAX);
      this.#pass(20);
      if (round === 30) this.#proposeToLeaders();
    }
    this.#settle(TURNS_MAX);
    checkGroup(this.#world);
  }

  get leaders(): readonly ReplicaId[] {
    return ALL.filter((id) => replicaOf(this.#world, id).state?.role.kind === 'leader');
  }

  /** Applied entries of all members. */
  get machines(): readonly string[] {
    const [leader] = this.leaders;
    const state = leader === undefined ? undefined : replicaOf(this.#world, leader).state;
    assert(state !== undefined, 'The group has a leader');
    const { voters, learners } = state.membership;
    assert(voters.outgoing.length === 0, 'A change comes to its end', state.membership);
    return [...voters.incoming, ...learners].map((id) => JSON.stringify(replicaOf(this.#world, id).machine));
  }

  get openReads(): number {
    return this.#reads.size;
  }

  /** Directs actions for leaders to a leader, most of the time. */
  #aim(kind: string, id: ReplicaId, at: number): ReplicaId {
    if (at % 5 === 0 || !['propose', 'change', 'transfer', 'unreachable', 'cut-off'].includes(kind)) return id;
    const term = (leader: ReplicaId): number => replicaOf(this.#world, leader).state?.hardState.term ?? 0;
    return this.leaders.toSorted((one, other) => term(other) - term(one))[0] ?? id;
  }

  #input(kind: string, id: ReplicaId, at: number): Input {
    switch (kind) {
      case 'propose':
        return { kind: 'propose', payloads: Array.from({ length: 1 + (at % 3) }, () => this.#newPayload()) };
      case 'read':
        this.#readId += 1;
        this.#reads.set(this.#readId, { by: id, seen: this.#world.history.committed.length });
        return { kind: 'read', id: this.#readId };
      case 'campaign':
        return { kind: 'campaign' };
      case 'depose': {
        // An election without pre-vote, as after a leadership transfer whose sender has stopped meanwhile.
        const term = replicaOf(this.#world, id).state?.hardState.term;
        const role = replicaOf(this.#world, id).state?.role;
        if (term === undefined || role?.kind !== 'follower' || role.leader === undefined) return { kind: 'campaign' };
        return { kind: 'receive', from: role.leader, message: { kind: 'timeout-now', term } };
      }
      case 'change':
        return { kind: 'change-membership', target: this.#target(id, at) };
      case 'transfer':
        return { kind: 'transfer-leadership', to: ALL[at % ALL.length] ?? id };
      case 'unreachable':
        return { kind: 'unreachable', replica: ALL[at % ALL.length] ?? id };
      default:
        return { kind: 'forget-leader' };
    }
  }

  #carry(kind: 'deliver' | 'deliver-first' | 'double' | 'lose', at: number): void {
    const { length } = this.#world.network;
    if (length === 0) return;
    if (kind === 'lose') this.#world = drop(this.#world, at % length);
    else this.#take(deliver(this.#world, at % length, kind === 'double'));
  }

  /**
   * Delivers messages in order, completes writes and applies entries, until nothing is left or the turns are used up.
   */
  #settle(turnsMax: number): void {
    for (let turn = 0; turn < turnsMax; turn += 1) {
      const next = this.#next();
      if (next === undefined) return;
      this.#take(next);
    }
    assert(turnsMax < TURNS_MAX, 'A group that is left alone becomes quiet', this.#world.network.length);
  }

  #next(): Turn | undefined {
    for (const { id, state, writing, toApply, asked } of this.#world.replicas.values()) {
      if (state === undefined) continue;
      if (writing.length > 0) return write(this.#world, id);
      if (toApply.length > 0) return apply(this.#world, id, toApply.length);
      if (asked.length > 0) return answer(this.#world, id);
    }
    return this.#world.network.length === 0 ? undefined : deliver(this.#world, 0);
  }

  /** Advances time; every deadline fires when it is reached. */
  #pass(byMs: number): void {
    this.#world = { ...this.#world, nowMs: this.#world.nowMs + byMs };
    for (const id of ALL) {
      const { state } = replicaOf(this.#world, id);
      const due = state === undefined ? undefined : nextDeadline(state.timers);
      if (due !== undefined && due <= this.#world.nowMs) this.#give(id, { kind: 'tick' });
    }
  }

  #proposeToLeaders(): void {
    for (const id of this.leaders) this.#give(id, { kind: 'propose', payloads: [this.#newPayload()] });
  }

  #give(id: ReplicaId, input: Input): void {
    this.#take(give(this.#world, id, input));
  }

  #take({ world, events }: Turn): void {
    this.#world = world;
    for (const { effect } of events) this.#hear(effect);
  }

  #hear(effect: Effect): void {
    if (effect.kind === 'read-refused') this.#reads.delete(effect.id);
    if (effect.kind !== 'read-ready') return;
    const seen = this.#reads.get(effect.id)?.seen;
    assert(seen !== undefined, 'A read is answered once', effect);
    assert(effect.index >= seen, 'R5: a read sees everything that was committed when it was asked', [effect, seen]);
    this.#reads.delete(effect.id);
  }

  /** One more learner, all learners as voters, one voter less or as a learner, or a random membership. */
  #target(id: ReplicaId, at: number): Target {
    const membership = replicaOf(this.#world, id).state?.membership ?? replicaOf(this.#world, id).machine.membership;
    const voters = membership.voters.incoming;
    const { learners } = membership;
    const some = ALL[Math.floor(at / 6) % ALL.length] ?? id;
    switch (at % 6) {
      case 0:
      case 1:
        return { voters, learners: [...new Set([...learners, some])].filter((each) => !voters.includes(each)) };
      case 2:
      case 3:
        return { voters: [...voters, ...learners], learners: [] };
      case 4:
        return { voters: voters.filter((each) => each !== some), learners };
      default:
        return { voters: voters.filter((each) => each !== some), learners: [...learners, some] };
    }
  }

  #newPayload(): Uint8Array {
    this.#payload += 1;
    return new Uint8Array(1 + (this.#payload % 5));
  }
}
