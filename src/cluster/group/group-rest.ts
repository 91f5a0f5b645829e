/**
 * The beats of a group in which nothing happens. They come, go and are answered without a step, which would do nothing
 * but note when (R14): a node has thousands of such groups, and each beats several times in a second.
 *
 * ```
 *   input ── would change nothing but times ──> noted, and said again what was said before
 *     └── anything else ──> settle: the times are set ──> step
 * ```
 * Nobody sees a state whose times are not set: whoever asks the group for its state has them settled first.
 *
 * What repeats for long is not even noted (C31): the group rests upon the tables of other nodes, says what it says as
 * part of a refrain, and finds out how often all that has happened when somebody looks.
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
import type { Envelope } from '../peer/envelope.ts';
import type { Beat, Refrain, Repeated } from '../peer/refrain.ts';
import type { Recurrence } from './heard-rows.ts';

const NOTHING: readonly Envelope<Repeated>[] = [];

/** What a group and its node hear of another node, and say to it, again and again. */
export interface RestPlace {
  /** Tables of beats of that node, and of its answers. */
  readonly beats: Heard;
  readonly answers: Heard;
  /** What is said to it as long as nothing changes. */
  readonly saysBeats: Refrain<Beat>;
  readonly saysAnswers: Refrain<BeatAck>;
}

interface Heard extends Recurrence {
  leave(id: GroupId): void;
}

/** What happens again and again, and how often it had happened by the time that is noted already. */
interface Since<What extends Recurrence> {
  readonly what: What;
  count: number;
}

export class GroupRest {
  readonly #group: GroupId;
  readonly #self: ReplicaId;
  /** Of a follower: beats since its state was settled. */
  #beatCount = 0;
  #beatMs = 0;
  /** The last of them, and the state that it changed nothing of. */
  #beat: Message | undefined;
  #follows: RaftState | undefined;
  /** Of a follower: the tables upon which it rests. */
  #upon: Since<Heard> | undefined;
  /** Of a leader: who has answered since its state was settled, and when it said its beats last. */
  #answers: Map<ReplicaId, number> | undefined;
  /** Of a leader: the tables with the answers of members that say the same every time. */
  #answering: Map<ReplicaId, Since<Heard>> | undefined;
  /** Of a leader: that its node says its beats for it. */
  #saying: Since<Recurrence> | undefined;
  /** Those that say something for the group. */
  #refrains: readonly Refrain[] = [];
  #saidMs: number | undefined;
  /** The state of a leader that was seen to be at rest. */
  #leads: RaftState | undefined;
  /** What is said again and again: the beats of a leader, or the answer of a follower. */
  #said: readonly Envelope<Repeated>[] = NOTHING;

  constructor(group: GroupId, self: ReplicaId) {
    this.#group = group;
    this.#self = self;
  }

  /** What is said instead of a step; undefined when the input takes one. */
  repeat(state: RaftState, input: Input, nowMs: number): readonly Envelope[] | undefined {
    this.#note();
    if (input.kind === 'tick') return this.#say(state, nowMs);
    if (input.kind !== 'receive') return undefined;
    const { from, message } = input;
    // One that was sent once for all times is one object, and looked at once.
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

  /** Whether the deadline may be nearer than before what was repeated last. */
  get hasNewDeadline(): boolean {
    return this.#beatCount === 1 || this.#saidMs !== undefined;
  }

  /** The state with its times. Nothing is left to settle. */
  settle(state: RaftState): RaftState {
    this.#note();
    if (this.#beatCount > 0) {
      const beats = { count: this.#beatCount, lastMs: this.#beatMs };
      this.#beatCount = 0;
      const settled = withBeatsHeard(state, beats);
      if (this.#follows === state) this.#follows = settled;
      return settled;
    }
    if (this.#saidMs === undefined && (this.#answers === undefined || this.#answers.size === 0)) return state;
    const settled = withAnswersHeard(state, this.#answers ?? new Map(), this.#saidMs);
    this.#answers?.clear();
    this.#saidMs = undefined;
    if (this.#leads === state) this.#leads = settled;
    return settled;
  }

  /** When the group is to be stepped, or somewhat sooner; undefined when it waits for no time to come. */
  deadlineMs(state: RaftState): number | undefined {
    if (this.isShared) return undefined;
    if (this.#saidMs !== undefined) return nextBeat(state, this.#saidMs);
    const { timers, config } = state;
    if (timers.election === undefined || this.#beatCount === 0) return nextDeadline(timers);
    // By how much more the next election is put off is drawn when its time is set.
    return Math.min(this.#beatMs + config.electionWindowMs, timers.read ?? Number.POSITIVE_INFINITY);
  }

  /** Whether others look after its deadline: it need not be stepped before they wake it. */
  get isShared(): boolean {
    return this.#upon !== undefined || this.#saying !== undefined;
  }

  /**
   * The row that was just repeated will be the same in the next table: rests upon it, if nothing else has happened.
   * Whether it does.
   */
  restUpon(state: RaftState, { from, message }: Envelope, place: RestPlace): boolean {
    if (message.kind === 'beat') {
      const [said] = this.#said;
      // Of its deadlines others look after its election alone.
      const isRepeated = message === this.#beat && state === this.#follows && state.timers.read === undefined;
      if (!isRepeated || said?.message.kind !== 'beat-ack' || place.saysAnswers.isFull) return false;
      this.#upon = { what: place.beats, count: place.beats.count };
      this.#refrain(place.saysAnswers, { ...said, message: said.message });
      return true;
    }
    if (message.kind !== 'beat-ack' || !this.#isLeading(state) || !repeatsAnswer(state, from, message)) return false;
    this.#answering ??= new Map();
    this.#answering.set(from, { what: place.answers, count: place.answers.count });
    return true;
  }

  /** Has its node say its beats, once all members answer by tables that say the same every time. */
  join(state: RaftState, saying: Recurrence, placeOf: (node: NodeId) => RestPlace): void {
    if (this.#saying !== undefined || !this.#isLeading(state)) return;
    for (const { to } of this.#said) {
      if (this.#answering?.has(to) !== true || placeOf(nodeOf(to)).saysBeats.isFull) return;
    }
    for (const said of this.#said) {
      if (said.message.kind === 'beat')
        this.#refrain(placeOf(nodeOf(said.to)).saysBeats, { ...said, message: said.message });
    }
    this.#saying = { what: saying, count: saying.count };
  }

  /** From here on the group notes and says for itself, or is stepped. */
  leave(): void {
    if (!this.isShared && (this.#answering === undefined || this.#answering.size === 0)) return;
    this.#note();
    this.#upon?.what.leave(this.#group);
    for (const { what } of this.#answering?.values() ?? []) what.leave(this.#group);
    for (const refrain of this.#refrains) refrain.unsay(this.#group);
    this.#upon = undefined;
    this.#answering?.clear();
    this.#saying = undefined;
    this.#refrains = [];
  }

  /** Takes note of what has happened without this group. */
  #note(): void {
    const upon = this.#upon;
    if (upon !== undefined && upon.what.count > upon.count) {
      this.#beatCount += upon.what.count - upon.count;
      this.#beatMs = upon.what.lastMs;
      upon.count = upon.what.count;
    }
    for (const [member, answering] of this.#answering ?? []) {
      if (answering.what.count === answering.count) continue;
      this.#answers ??= new Map();
      this.#answers.set(member, answering.what.lastMs);
      answering.count = answering.what.count;
    }
    const saying = this.#saying;
    if (saying === undefined || saying.what.count === saying.count) return;
    this.#saidMs = saying.what.lastMs;
    saying.count = saying.what.count;
  }

  #refrain<M extends Repeated>(refrain: Refrain<M>, envelope: Envelope<M>): void {
    refrain.say(envelope);
    this.#refrains = [...this.#refrains, refrain];
  }

  #say(state: RaftState, nowMs: number): readonly Envelope[] | undefined {
    if (!this.#isLeading(state)) return undefined;
    const deadlineMs = this.deadlineMs(state);
    if (deadlineMs === undefined || nowMs < deadlineMs) return undefined;
    if (!hearsEverybody(state, this.#answers ?? NOBODY, nowMs)) return undefined;
    this.#saidMs = nowMs;
    return this.#said;
  }

  #isLeading(state: RaftState): boolean {
    if (this.#leads === state) return true;
    if (!leadsAtRest(state)) return false;
    this.#leads = state;
    this.#said = this.#beatsOf(state);
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
    return this.#said;
  }

  /** The very same as the last time, if it is: whoever compares them sees that at once. */
  #prepareAnswer(state: RaftState, to: ReplicaId, round: number): void {
    const [last] = this.#said;
    const isSame =
      last?.message.kind === 'beat-ack' &&
      last.to === to &&
      last.message.round === round &&
      last.message.term === state.hardState.term;
    if (!isSame) this.#said = [{ group: this.#group, from: this.#self, to, message: answerTo(state, round) }];
  }
}

const NOBODY: ReadonlyMap<ReplicaId, number> = new Map();
