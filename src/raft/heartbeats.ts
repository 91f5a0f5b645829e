/**
 * Heartbeats: the leader asserts its leadership, and detects the loss of its quorum.
 *
 * A heartbeat has term, commit index and round only, so that a process that leads many groups can send those of all
 * groups to one peer as one frame, and omit unchanged ones. For that all leaders of a process send them at the same
 * instants, the multiples of `beatMs`. Heartbeats and their answers never wait for a disk.
 */

import { follow } from './become-follower.ts';
import type { Effect } from './effect.ts';
import { lastId } from './log.ts';
import type { BeatAck } from './message.ts';
import { transition } from './progress.ts';
import { type ReplicaId, voteResult } from './quorum.ts';
import { ask, leaderOf, replicate, withPeer } from './replication.ts';
import type { Peer } from './role.ts';
import { andThen, type RaftState, type Step, send } from './state.ts';
import { arm, disarm } from './timers.ts';

/** Arms the next heartbeat; a leader without other members sends none. */
export function armBeat(state: RaftState, nowMs: number): RaftState {
  if (leaderOf(state).peers.size === 0) return { ...state, timers: disarm(state.timers, 'beat') };
  return { ...state, timers: arm(state.timers, 'beat', nextBeat(state, nowMs)) };
}

/** Time of the heartbeat after one at that time. */
export function nextBeat({ config }: RaftState, nowMs: number): number {
  return nextBeatAt(nowMs, config.replication.beatMs);
}

/** The same for any leader with this interval. */
export function nextBeatAt(nowMs: number, beatMs: number): number {
  return (Math.floor(nowMs / beatMs) + 1) * beatMs;
}

/** Sends heartbeats, or steps down when no quorum has answered for an election window: another replica may lead. */
export function beat(state: RaftState, nowMs: number): Step {
  const { term } = state.hardState;
  if (!hasQuorum(state, nowMs)) {
    const fact: Effect = { kind: 'fact', fact: { kind: 'quorum-lost', term } };
    return andThen({ state, effects: [fact] }, (lost) => follow(lost, undefined, nowMs));
  }
  const role = leaderOf(state);
  const { commit } = state;
  const peers = new Map<ReplicaId, Peer>();
  const effects: Effect[] = [];
  for (const [id, peer] of role.peers) {
    effects.push(send(id, { kind: 'beat', term, commit, round: role.round }));
    const nudge = isStuck(state, peer, nowMs) ? ask(state, peer.progress) : undefined;
    if (nudge !== undefined) effects.push(send(id, nudge));
    peers.set(id, beaten(state, peer, nudge === undefined && isStuck(state, peer, nowMs)));
  }
  const beating = armBeat({ ...state, role: { ...role, peers } }, nowMs);
  return andThen({ state: beating, effects }, replicate);
}

/** The member answers, lacks sent entries, and has not advanced since the last heartbeat: a message may be lost. */
function isStuck(state: RaftState, peer: Peer, nowMs: number): boolean {
  const { progress, matchAtBeat } = peer;
  if (progress.kind !== 'replicate' || progress.waitsFor !== 'nothing' || !isActive(state, peer, nowMs)) return false;
  return progress.match < lastId(state.log).index && progress.match === matchAtBeat;
}

/** Resets the stream to a stuck member when `ask` has nothing to ask about, because the entries left memory. */
function beaten(state: RaftState, peer: Peer, mustBegin: boolean): Peer {
  const progress = mustBegin ? transition(peer.progress, { kind: 'unreachable' }) : peer.progress;
  return { ...peer, progress, matchAtBeat: progress.match, sentCommit: state.commit };
}

/** Records an answer to a heartbeat; the caller sends and answers what it permits. */
export function takeBeatAck(state: RaftState, from: ReplicaId, { round }: BeatAck): RaftState {
  const role = leaderOf(state);
  const peer = role.peers.get(from);
  if (peer === undefined || round <= peer.round) return state;
  return withPeer(state, from, { ...peer, round: Math.min(round, role.round) });
}

/** Returns true when a message of the member arrived within the last election window. */
export function isActive(state: RaftState, peer: Peer, nowMs: number): boolean {
  return nowMs < peer.heardMs + state.config.electionWindowMs;
}

function hasQuorum(state: RaftState, nowMs: number): boolean {
  const { peers } = leaderOf(state);
  const { self } = state.config;
  const answers = (voter: ReplicaId): boolean => {
    const peer = peers.get(voter);
    return voter === self || (peer !== undefined && isActive(state, peer, nowMs));
  };
  return voteResult(state.membership.voters, answers) === 'won';
}
