/**
 * Read index: how far a linearizable read must see.
 *
 * A read may be answered at the leader's commit index once (a) the leader has committed an entry of its term, so that
 * it knows everything any earlier leader committed, and (b) a quorum has confirmed, after the read arrived, that it
 * still leads (R5). The runtime then waits until the index is applied, and checks again that the term is the same.
 *
 * Confirmation goes in rounds, which are numbered and never numbered again in a term. A read that arrives while a round
 * is under way waits for the next one: the answers to this one may have been given before it arrived. One round serves
 * all reads that wait for it, and every beat repeats the number of the last, so that a lost answer costs one beat.
 */
import type { Effect } from './effect.ts';
import { quorumReached, type ReplicaId } from './quorum.ts';
import { refuseRead } from './refusals.ts';
import { leaderOf } from './replication.ts';
import type { Leader, PendingRead } from './role.ts';
import { andThen, askVoters, type RaftState, type Step, send, unchanged } from './state.ts';

/** Takes a read in, of its own or of the follower `from`, and begins a round for it unless one is under way. */
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

/** Goes on after a member has confirmed a round: with the next one if reads wait for it. */
export function confirmReads(state: RaftState): Step {
  const role = leaderOf(state);
  const waits = role.reads.some((read) => read.round > role.round);
  return andThen(waits && !isUnderWay(state, role) ? beginRound(state) : unchanged(state), releaseReads);
}

/** Answers the reads that fulfil both conditions. */
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

/** Whether answers to the last round are still missing. */
function isUnderWay(state: RaftState, role: Leader): boolean {
  return confirmedRound(state, role) < role.round;
}

/** The last round that a quorum has confirmed; the leader itself confirms at once, it knows its own term. */
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
