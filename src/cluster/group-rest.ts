/**
 * The beats of a group in which nothing happens. They come, go and are answered without a step, which would do nothing
 * but note when (R14): a node has thousands of such groups, and each beats several times in a second.
 *
 * ```
 *   input ── would change nothing but times ──> noted, and said again what was said before
 *     └── anything else ──> settle: the times are set ──> step
 * ```
 * Nobody sees a state whose times are not set: whoever asks the group for its state has them settled first.
 */
import type { GroupId } from '#base';
import {
  answerTo,
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
import type { Envelope } from './peer/envelope.ts';

const NOTHING: readonly Envelope[] = [];

export class GroupRest {
  readonly #group: GroupId;
  readonly #self: ReplicaId;
  /** Of a follower: beats since its state was settled. */
  #beatCount = 0;
  #beatMs = 0;
  /** The last of them, and the state that it changed nothing of. */
  #beat: Message | undefined;
  #follows: RaftState | undefined;
  /** Of a leader: who has answered since its state was settled, and when it said its beats last. */
  #answers: Map<ReplicaId, number> | undefined;
  #saidMs: number | undefined;
  /** The state of a leader that was seen to be at rest. */
  #leads: RaftState | undefined;
  /** What is said again and again: the beats of a leader, or the answer of a follower. */
  #said: readonly Envelope[] = NOTHING;

  constructor(group: GroupId, self: ReplicaId) {
    this.#group = group;
    this.#self = self;
  }

  /** What is said instead of a step; undefined when the input takes one. */
  repeat(state: RaftState, input: Input, nowMs: number): readonly Envelope[] | undefined {
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
    if (this.#saidMs !== undefined) return nextBeat(state, this.#saidMs);
    const { timers, config } = state;
    if (timers.election === undefined || this.#beatCount === 0) return nextDeadline(timers);
    // By how much more the next election is put off is drawn when its time is set.
    return Math.min(this.#beatMs + config.electionWindowMs, timers.read ?? Number.POSITIVE_INFINITY);
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

  #beatsOf({ role, hardState, commit }: RaftState): readonly Envelope[] {
    if (role.kind !== 'leader') return NOTHING;
    const beat = { kind: 'beat', term: hardState.term, commit, round: role.round } as const;
    return Array.from(role.peers.keys(), (to) => ({ group: this.#group, from: this.#self, to, message: beat }));
  }

  #heard(nowMs: number): readonly Envelope[] {
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
