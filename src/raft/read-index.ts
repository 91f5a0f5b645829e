/**
 * Read index at the leader: the index that a linearizable read must see. follower-reads.ts is the side of a follower.
 *
 * A read may be answered at the leader's commit index once (a) the leader has committed an entry of its term, so that
 * it knows all commits of earlier leaders, and (b) a quorum has confirmed its leadership after the read arrived (R5).
 * The runtime then waits until the index is applied, and checks again that the term is the same.
 *
 * Confirmation has rounds, with numbers that are unique in a term. A read that arrives during a round waits for the
 * next one: the answers to the current round may be older than the read. One round serves all reads that wait for it,
 * and every heartbeat repeats the last number, so that a lost answer costs one heartbeat interval.
 */
import type { Effect } from './effect.ts';
import { quorumReached, type ReplicaId } from './quorum.ts';
import { refuseRead } from './refusals.ts';
import { leaderOf } from './replication.ts';
import type { Leader, PendingRead } from './role.ts';
import { andThen, askVoters, type RaftState, type Step, send, unchanged } from './state.ts';

/** Adds a read of its own or of the follower `from`, and begins a round for it unless one is in progress. */
export function addRead(state: RaftState, id: number, from: ReplicaId | undefined): Step {
  const role = leaderOf(state);
  const { pendingReadsMax } = state.config;
  if (role.reads.length >= pendingReadsMax) {
    if (from === undefined) return refuseRead(state, id, { kind: 'reads-full', countMax: pendingReadsMax });
    return { state, effects: [answer(state, { id, from }, undefined)] };
  }
  const round = role.round + 1;
  const added: RaftState = { ...state, role: { ...role, reads: [...role.reads, { id, from, round }] } };
  return andThen(isUnderWay(added, role) ? unchanged(added) : beginRound(added), releaseReads);
}

/** Handles a confirmation: begins the next round if reads wait for it. */
export function confirmReads(state: RaftState): Step {
  const role = leaderOf(state);
  const waits = role.reads.some((read) => read.round > role.round);
  return andThen(waits && !isUnderWay(state, role) ? beginRound(state) : unchanged(state), releaseReads);
}

/** Answers the reads that meet both conditions. */
export function releaseReads(state: RaftState): Step {
  const role = leaderOf(state);
  const { commit } = state;
  if (role.reads.length === 0 || commit < role.first) return unchanged(state);
  const confirmed = confirmedRound(state, role);
  const ready = role.reads.filter(({ round }) => round <= confirmed);
  if (ready.length === 0) return unchanged(state);
  const waiting = role.reads.filter(({ round }) => round > confirmed);
  const { term } = state.hardState;
  const effects = ready.map((read): Effect => {
    const { id, from } = read;
    return from === undefined ? { kind: 'read-ready', id, index: commit, term } : answer(state, { id, from }, commit);
  });
  return { state: { ...state, role: { ...role, reads: waiting } }, effects };
}

function beginRound(state: RaftState): Step {
  const role = leaderOf(state);
  const round = role.round + 1;
  const { commit } = state;
  const { term } = state.hardState;
  const begun: RaftState = { ...state, role: { ...role, round } };
  return { state: begun, effects: askVoters(state, { kind: 'beat', term, commit, round }) };
}

/** Returns true while the last round is not confirmed. */
function isUnderWay(state: RaftState, role: Leader): boolean {
  return confirmedRound(state, role) < role.round;
}

/** The last round that a quorum has confirmed; the leader itself counts as having confirmed. */
function confirmedRound(state: RaftState, role: Leader): number {
  const { self } = state.config;
  return quorumReached(state.membership.voters, (voter) =>
    voter === self ? role.round : (role.peers.get(voter)?.round ?? 0),
  );
}

function answer(
  state: RaftState,
  { id, from }: { readonly id: PendingRead['id']; readonly from: ReplicaId },
  index: RaftState['commit'] | undefined,
): Effect {
  return send(from, { kind: 'read-reply', term: state.hardState.term, id, index });
}
