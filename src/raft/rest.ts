/**
 * Idle replicas, in which heartbeats change nothing but the time of the last message.
 *
 * A process with thousands of them need not step each for each heartbeat. It may record the times, and apply the last
 * ones before it reads the state again or steps it (R14). The functions here tell when a step would do nothing else,
 * and apply the recorded times.
 */
import { isActive, nextBeat } from './heartbeats.ts';
import { lastId } from './log.ts';
import type { BeatAck, Message } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { drawRandoms } from './random.ts';
import { leaderOf } from './replication.ts';
import type { Peer } from './role.ts';
import { armElection, mayVote, type RaftState } from './state.ts';
import { arm } from './timers.ts';

/** Heartbeats at a follower since its last step: their count, and the time of the last. */
export interface BeatsHeard {
  readonly count: number;
  readonly lastMs: number;
}

/** Time of the last answer of each member since the leader's last step. */
export type AnswersHeard = ReadonlyMap<ReplicaId, number>;

/** Returns true when a step with this message would only record its time, and answer it with `answerTo`. */
export function repeatsBeat(
  { role, hardState, commit, installing }: RaftState,
  from: ReplicaId,
  message: Message,
): boolean {
  if (message.kind !== 'beat' || role.kind !== 'follower' || installing !== undefined) return false;
  return role.leader === from && message.term === hardState.term && message.commit <= commit && role.reads.length === 0;
}

/** The answer to such a heartbeat. */
export function answerTo({ hardState }: RaftState, round: number): BeatAck {
  return { kind: 'beat-ack', term: hardState.term, round };
}

/** Returns true when the leader would only send heartbeats at their times, while all members answer. */
export function leadsAtRest(state: RaftState): boolean {
  const { role, log, commit } = state;
  if (role.kind !== 'leader' || role.reads.length > 0 || role.transfer !== undefined || role.peers.size === 0) {
    return false;
  }
  const last = lastId(log).index;
  for (const { progress, sentCommit, matchAtBeat, hasAnswered } of role.peers.values()) {
    const lacksNothing = progress.kind === 'replicate' && progress.waitsFor === 'nothing' && progress.match === last;
    if (!lacksNothing || sentCommit !== commit || matchAtBeat !== last || !hasAnswered) return false;
  }
  return true;
}

/** Returns true when a step of an idle leader with this message would only record its time. */
export function repeatsAnswer(state: RaftState, from: ReplicaId, message: Message): boolean {
  const peer = leaderOf(state).peers.get(from);
  if (peer === undefined || message.kind !== 'beat-ack') return false;
  return message.term === state.hardState.term && message.round <= peer.round;
}

/** Returns true when all members answered an idle leader within a window, so that a heartbeat now keeps it leading. */
export function hearsEverybody(state: RaftState, answers: AnswersHeard, nowMs: number): boolean {
  for (const [id, peer] of leaderOf(state).peers) {
    const heardMs = answers.get(id) ?? peer.heardMs;
    if (!isActive(state, { ...peer, heardMs }, nowMs)) return false;
  }
  return true;
}

/** The state of a follower after a step with each of these heartbeats. */
export function withBeatsHeard(state: RaftState, { count, lastMs }: BeatsHeard): RaftState {
  const { role } = state;
  if (role.kind !== 'follower') return state;
  const heard: RaftState = { ...state, role: { ...role, heardMs: lastMs } };
  if (!mayVote(state)) return heard;
  return armElection({ ...heard, random: drawRandoms(state.random, count - 1) }, lastMs);
}

/** The state of an idle leader after these answers, and its last heartbeats at `beatMs`, if any. */
export function withAnswersHeard(state: RaftState, answers: AnswersHeard, beatMs: number | undefined): RaftState {
  const role = leaderOf(state);
  const peers = new Map<ReplicaId, Peer>();
  for (const [id, peer] of role.peers) peers.set(id, { ...peer, heardMs: answers.get(id) ?? peer.heardMs });
  const timers = beatMs === undefined ? state.timers : arm(state.timers, 'beat', nextBeat(state, beatMs));
  return { ...state, timers, role: { ...role, peers } };
}
