/**
 * Replicas in which nothing happens: beats come and go, and change nothing but when somebody was heard of.
 *
 * Whoever runs thousands of them need not step each for each beat. It may note when a beat came or went, and set the
 * times of the last of them before it looks at the state again, or steps it (R14). So here stands, beside what a step
 * does, when it does nothing else.
 */
import { isActive, nextBeat } from './beats.ts';
import { lastId } from './log.ts';
import type { BeatAck, Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { drawRandoms } from './random.ts';
import { leaderOf } from './replication.ts';
import type { Peer } from './role.ts';
import { armElection, mayVote, type RaftState } from './state.ts';
import { arm } from './timers.ts';

/** Beats that a follower has heard since it was stepped: how many, and when the last of them came. */
export interface BeatsHeard {
  readonly count: number;
  readonly lastMs: number;
}

/** When each member was heard of that has answered a leader since that was stepped. */
export type AnswersHeard = ReadonlyMap<ReplicaId, number>;

/** Whether a step with this message would do nothing but note when it came, and answer it by `answerTo`. */
export function repeatsBeat(
  { role, hardState, commit, installing }: RaftState,
  from: ReplicaId,
  message: Message,
): boolean {
  if (message.kind !== 'beat' || role.kind !== 'follower' || installing !== undefined) return false;
  return role.leader === from && message.term === hardState.term && message.commit <= commit && role.reads.length === 0;
}

/** What a beat that repeats is answered by. */
export function answerTo({ hardState }: RaftState, round: number): BeatAck {
  return { kind: 'beat-ack', term: hardState.term, round };
}

/** Whether a leader does nothing at the time of its beats but beat, as long as everybody answers. */
export function leadsAtRest(state: RaftState): boolean {
  const { role, log, commit } = state;
  if (role.kind !== 'leader' || role.reads.length > 0 || role.transfer !== undefined || role.peers.size === 0) {
    return false;
  }
  const last = lastId(log).index;
  for (const { progress, toldCommit, matchAtBeat, hasAnswered } of role.peers.values()) {
    const lacksNothing = progress.kind === 'replicate' && progress.waitsFor === 'nothing' && progress.match === last;
    if (!lacksNothing || toldCommit !== commit || matchAtBeat !== last || !hasAnswered) return false;
  }
  return true;
}

/** Whether a step of a leader at rest with this message would do nothing but note when it came. */
export function repeatsAnswer(state: RaftState, from: ReplicaId, message: Message): boolean {
  const peer = leaderOf(state).peers.get(from);
  if (peer === undefined || message.kind !== 'beat-ack') return false;
  return message.term === state.hardState.term && message.round <= peer.round;
}

/** Whether a leader at rest has heard everybody within a window, so that it goes on leading when it beats now. */
export function hearsEverybody(state: RaftState, answers: AnswersHeard, nowMs: number): boolean {
  for (const [id, peer] of leaderOf(state).peers) {
    const heardMs = answers.get(id) ?? peer.heardMs;
    if (!isActive(state, { ...peer, heardMs }, nowMs)) return false;
  }
  return true;
}

/** The state of a follower that was stepped with each of these beats. */
export function withBeatsHeard(state: RaftState, { count, lastMs }: BeatsHeard): RaftState {
  const { role } = state;
  if (role.kind !== 'follower') return state;
  const heard: RaftState = { ...state, role: { ...role, heardMs: lastMs } };
  if (!mayVote(state)) return heard;
  return armElection({ ...heard, random: drawRandoms(state.random, count - 1) }, lastMs);
}

/** The state of a leader at rest that was stepped with these answers, and beat last at `beatMs`, if it did. */
export function withAnswersHeard(state: RaftState, answers: AnswersHeard, beatMs: number | undefined): RaftState {
  const role = leaderOf(state);
  const peers = new Map<ReplicaId, Peer>();
  for (const [id, peer] of role.peers) peers.set(id, { ...peer, heardMs: answers.get(id) ?? peer.heardMs });
  const timers = beatMs === undefined ? state.timers : arm(state.timers, 'beat', nextBeat(state, beatMs));
  return { ...state, timers, role: { ...role, peers } };
}
