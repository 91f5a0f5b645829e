/**
 * Beats: how a leader shows that it leads, and how it notices that it does not any more.
 *
 * A beat says term, commit index and round, and nothing else, so that a process that leads many groups can send those
 * of all groups to one peer as one frame, and leave out what has not changed. For that all its leaders beat at the same
 * instants, the multiples of `beatMs`. Beats and their answers never wait for a disk.
 */
import type { Effect } from './effect.ts';
import { follow } from './follow.ts';
import { lastId } from './log.ts';
import type { BeatAck } from './message.ts';
import { transition } from './progress.ts';
import { type ReplicaId, tally } from './quorum.ts';
import { ask, leaderOf, replicate, withPeer } from './replication.ts';
import type { Peer } from './role.ts';
import { andThen, type RaftState, type Step, send } from './state.ts';
import { arm, disarm } from './timers.ts';

/** Sets the next beat; a leader without others has nobody to beat for. */
export function armBeat(state: RaftState, nowMs: number): RaftState {
  if (leaderOf(state).peers.size === 0) return { ...state, timers: disarm(state.timers, 'beat') };
  return { ...state, timers: arm(state.timers, 'beat', nextBeat(state, nowMs)) };
}

/** When whoever beats at that time beats next. */
export function nextBeat({ config }: RaftState, nowMs: number): number {
  return nextBeatAt(nowMs, config.replication.beatMs);
}

/** The same of every leader that beats so often. */
export function nextBeatAt(nowMs: number, beatMs: number): number {
  return (Math.floor(nowMs / beatMs) + 1) * beatMs;
}

/** Beats, unless too few have answered for a whole window: then somebody else may lead, and this one gives way. */
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

/** It answers, lacks something that was sent, and has not moved since the beat before: something may be lost. */
function isStuck(state: RaftState, peer: Peer, nowMs: number): boolean {
  const { progress, matchAtBeat } = peer;
  if (progress.kind !== 'replicate' || progress.waitsFor !== 'nothing' || !isActive(state, peer, nowMs)) return false;
  return progress.match < lastId(state.log).index && progress.match === matchAtBeat;
}

/** What was sent before one that lost its place in memory cannot be asked about: it begins again. */
function beaten(state: RaftState, peer: Peer, mustBegin: boolean): Peer {
  const progress = mustBegin ? transition(peer.progress, { kind: 'unreachable' }) : peer.progress;
  return { ...peer, progress, matchAtBeat: progress.match, toldCommit: state.commit };
}

/** Takes an answer to a beat in; what may be sent and answered because of it is the caller's business. */
export function takeBeatAck(state: RaftState, from: ReplicaId, { round }: BeatAck): RaftState {
  const role = leaderOf(state);
  const peer = role.peers.get(from);
  if (peer === undefined || round <= peer.round) return state;
  return withPeer(state, from, { ...peer, round: Math.min(round, role.round) });
}

/** Whether something was heard of a member within the last election window. */
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
  return tally(state.membership.voters, answers) === 'won';
}
