/**
 * An idle group, a "group at rest": its heartbeats are sent, received and answered without a Raft step, which would
 * only update times (R14). A node has thousands of such groups, each with several heartbeats per second.
 *
 * ```
 *   input ── changes only times ──> recorded, and the same messages sent again
 *     └── anything else ──> settle: the times are set ──> step
 * ```
 * The state is never visible with outdated times: reading the state of the group updates them first.
 *
 * Heartbeats that repeat for long are not even recorded per group (C31): they are rows of a delta-encoded table, one
 * per node and direction. The group computes how often its row has repeated when its state is read.
 */
import { type GroupId, type NodeId, nodeOf } from '#base';
import {
  answerTo,
  type BeatAck,
  hearsEverybody,
  type Input,
  leadsAtRest,
  type Message,
  nextBeat,
  nextDeadline,
  type RaftState,
  type ReplicaId,
  repeatsAnswer,
  repeatsBeat,
  withAnswersHeard,
  withBeatsHeard,
} from '#raft';
import type { Envelope } from '../peer/links.ts';
import type { Beat, Repeated, SentTable } from '../peer/sent-table.ts';
import type { Recurrence } from './received-table.ts';

const NOTHING: readonly Envelope<Repeated>[] = [];

/** The repeated messages between a node and another one. */
export interface RestPlace {
  /** Tables with heartbeats of the other node, and with its answers. */
  readonly beats: Heard;
  readonly answers: Heard;
  /** Heartbeats that are sent to it while nothing changes. */
  readonly sentBeats: SentTable<Beat>;
  readonly sentAnswers: SentTable<BeatAck>;
}

interface Heard extends Recurrence {
  leave(id: GroupId): void;
}

/** A recurrence, and its count when it was last recorded. */
interface Since<What extends Recurrence> {
  readonly what: What;
  count: number;
}

export class GroupRest {
  readonly #group: GroupId;
  readonly #self: ReplicaId;
  /** For a follower: heartbeats since its state was settled. */
  #beatCount = 0;
  #beatMs = 0;
  /** The last of them, and the state that it did not change. */
  #beat: Message | undefined;
  #follows: RaftState | undefined;
  /** For a follower: the table with the heartbeats of its leader, while they repeat. */
  #beating: Since<Heard> | undefined;
  /** For a leader: members that have answered since its state was settled, and the time of its last heartbeats. */
  #answers: Map<ReplicaId, number> | undefined;
  /** For a leader: tables with the answers of members that repeat. */
  #answering: Map<ReplicaId, Since<Heard>> | undefined;
  /** For a leader: the recurrence of its heartbeats, when the node sends them. */
  #sending: Since<Recurrence> | undefined;
  /** Tables that contain messages of the group. */
  #sentTables: readonly SentTable[] = [];
  #sentMs: number | undefined;
  /** The state of a leader that is known to be at rest. */
  #leads: RaftState | undefined;
  /** The repeated messages: heartbeats of a leader, or the answer of a follower. */
  #repeated: readonly Envelope<Repeated>[] = NOTHING;

  constructor(group: GroupId, self: ReplicaId) {
    this.#group = group;
    this.#self = self;
  }

  /** Returns the messages to send instead of a step; undefined when the input needs a step. */
  repeat(state: RaftState, input: Input, nowMs: number): readonly Envelope[] | undefined {
    this.#note();
    if (input.kind === 'tick') return this.#sendBeats(state, nowMs);
    if (input.kind !== 'receive') return undefined;
    const { from, message } = input;
    // A heartbeat that repeats by delta encoding is one object, compared by identity.
    if (message === this.#beat && state === this.#follows) return this.#heard(nowMs);
    if (message.kind === 'beat' && repeatsBeat(state, from, message)) {
      this.#beat = message;
      this.#follows = state;
      this.#prepareAnswer(state, from, message.round);
      return this.#heard(nowMs);
    }
    if (message.kind !== 'beat-ack' || !this.#isLeading(state) || !repeatsAnswer(state, from, message))
      return undefined;
    this.#answers ??= new Map();
    this.#answers.set(from, nowMs);
    return NOTHING;
  }

  /** True when the deadline may be earlier than before the last repetition. */
  get hasNewDeadline(): boolean {
    return this.#beatCount === 1 || this.#sentMs !== undefined;
  }

  /** The state with its times updated. */
  settle(state: RaftState): RaftState {
    this.#note();
    if (this.#beatCount > 0) {
      const beats = { count: this.#beatCount, lastMs: this.#beatMs };
      this.#beatCount = 0;
      const settled = withBeatsHeard(state, beats);
      if (this.#follows === state) this.#follows = settled;
      return settled;
    }
    if (this.#sentMs === undefined && (this.#answers === undefined || this.#answers.size === 0)) return state;
    const settled = withAnswersHeard(state, this.#answers ?? new Map(), this.#sentMs);
    this.#answers?.clear();
    this.#sentMs = undefined;
    if (this.#leads === state) this.#leads = settled;
    return settled;
  }

  /** Time of the next step, or somewhat earlier; undefined when it waits for no time. */
  deadlineMs(state: RaftState): number | undefined {
    if (this.isShared) return undefined;
    if (this.#sentMs !== undefined) return nextBeat(state, this.#sentMs);
    const { timers, config } = state;
    if (timers.election === undefined || this.#beatCount === 0) return nextDeadline(timers);
    // The random part of the election timeout is drawn when the time is set.
    return Math.min(this.#beatMs + config.electionWindowMs, timers.read ?? Number.POSITIVE_INFINITY);
  }

  /** True when the node watches its deadline: it needs no step before it is woken. */
  get isShared(): boolean {
    return this.#beating !== undefined || this.#sending !== undefined;
  }

  /**
   * The repeated row will be the same in the next table. Returns true if the group is at rest with it from now on,
   * which it is when nothing else has happened.
   */
  restOn(state: RaftState, { from, message }: Envelope, place: RestPlace): boolean {
    if (message.kind === 'beat') {
      const [answer] = this.#repeated;
      // Only its election deadline is watched by the node.
      const isRepeated = message === this.#beat && state === this.#follows && state.timers.read === undefined;
      if (!isRepeated || answer?.message.kind !== 'beat-ack' || place.sentAnswers.isFull) return false;
      this.#beating = { what: place.beats, count: place.beats.count };
      this.#addTo(place.sentAnswers, { ...answer, message: answer.message });
      return true;
    }
    if (message.kind !== 'beat-ack' || !this.#isLeading(state) || !repeatsAnswer(state, from, message)) return false;
    this.#answering ??= new Map();
    this.#answering.set(from, { what: place.answers, count: place.answers.count });
    return true;
  }

  /** Lets its node send its heartbeats, once all members answer by tables that repeat. */
  join(state: RaftState, sending: Recurrence, placeOf: (node: NodeId) => RestPlace): void {
    if (this.#sending !== undefined || !this.#isLeading(state)) return;
    for (const { to } of this.#repeated) {
      if (this.#answering?.has(to) !== true || placeOf(nodeOf(to)).sentBeats.isFull) return;
    }
    for (const beat of this.#repeated) {
      if (beat.message.kind === 'beat')
        this.#addTo(placeOf(nodeOf(beat.to)).sentBeats, { ...beat, message: beat.message });
    }
    this.#sending = { what: sending, count: sending.count };
  }

  /** Ends the rest: the group handles its messages itself again, or is stepped. */
  leave(): void {
    if (!this.isShared && (this.#answering === undefined || this.#answering.size === 0)) return;
    this.#note();
    this.#beating?.what.leave(this.#group);
    for (const { what } of this.#answering?.values() ?? []) what.leave(this.#group);
    for (const table of this.#sentTables) table.delete(this.#group);
    this.#beating = undefined;
    this.#answering?.clear();
    this.#sending = undefined;
    this.#sentTables = [];
  }

  /** Records what has repeated meanwhile. */
  #note(): void {
    const beating = this.#beating;
    if (beating !== undefined && beating.what.count > beating.count) {
      this.#beatCount += beating.what.count - beating.count;
      this.#beatMs = beating.what.lastMs;
      beating.count = beating.what.count;
    }
    for (const [member, answering] of this.#answering ?? []) {
      if (answering.what.count === answering.count) continue;
      this.#answers ??= new Map();
      this.#answers.set(member, answering.what.lastMs);
      answering.count = answering.what.count;
    }
    const sending = this.#sending;
    if (sending === undefined || sending.what.count === sending.count) return;
    this.#sentMs = sending.what.lastMs;
    sending.count = sending.what.count;
  }

  #addTo<M extends Repeated>(table: SentTable<M>, envelope: Envelope<M>): void {
    table.set(envelope);
    this.#sentTables = [...this.#sentTables, table];
  }

  #sendBeats(state: RaftState, nowMs: number): readonly Envelope[] | undefined {
    if (!this.#isLeading(state)) return undefined;
    const deadlineMs = this.deadlineMs(state);
    if (deadlineMs === undefined || nowMs < deadlineMs) return undefined;
    if (!hearsEverybody(state, this.#answers ?? NOBODY, nowMs)) return undefined;
    this.#sentMs = nowMs;
    return this.#repeated;
  }

  #isLeading(state: RaftState): boolean {
    if (this.#leads === state) return true;
    if (!leadsAtRest(state)) return false;
    this.#leads = state;
    this.#repeated = this.#beatsOf(state);
    return true;
  }

  #beatsOf({ role, hardState, commit }: RaftState): readonly Envelope<Repeated>[] {
    if (role.kind !== 'leader') return NOTHING;
    const beat = { kind: 'beat', term: hardState.term, commit, round: role.round } as const;
    return Array.from(role.peers.keys(), (to) => ({ group: this.#group, from: this.#self, to, message: beat }));
  }

  #heard(nowMs: number): readonly Envelope<Repeated>[] {
    this.#beatCount += 1;
    this.#beatMs = nowMs;
    return this.#repeated;
  }

  /** The same object as the last time if it is equal, so that comparing is cheap. */
  #prepareAnswer(state: RaftState, to: ReplicaId, round: number): void {
    const [last] = this.#repeated;
    const isSame =
      last?.message.kind === 'beat-ack' &&
      last.to === to &&
      last.message.round === round &&
      last.message.term === state.hardState.term;
    if (!isSame) this.#repeated = [{ group: this.#group, from: this.#self, to, message: answerTo(state, round) }];
  }
}

const NOBODY: ReadonlyMap<ReplicaId, number> = new Map();
