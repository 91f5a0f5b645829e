/**
 * Answers to candidates.
 *
 * A follower with a message from its leader within the last election window, and a leader with an active quorum, ignore
 * candidates, including their term, so that a replica that returns from a broken link disturbs no other. Only an
 * election that the leader itself requested is exempt.
 */
import { assert } from '#base';
import { follow } from './become-follower.ts';
import { type EntryId, isNotBehind } from './entry.ts';
import { lastId } from './log.ts';
import type { Message, PreVoteRequest, VoteRequest } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { andThen, armElection, commitId, persist, type RaftState, type Step, send, unchanged } from './state.ts';

/** Returns true when the message belongs to an election that would disturb a live leader. */
export function disturbs(state: RaftState, message: Message, nowMs: number): boolean {
  if (message.kind === 'vote-request') return !message.isTransfer && isLoyal(state, nowMs);
  return message.kind === 'pre-vote-request' && isLoyal(state, nowMs);
}

/** Answers whether it would vote for the sender in the term after this one. Promises nothing. */
export function answerPreVote(state: RaftState, from: ReplicaId, { last }: PreVoteRequest): Step {
  const { term } = state.hardState;
  const isGranted = isUpToDate(state, last);
  return { state, effects: [send(from, { kind: 'pre-vote-reply', term, isGranted, commit: commitId(state) })] };
}

/** Votes, if it may (R7). `acknowledge` sends the vote once it is on disk (R9). */
export function answerVote(state: RaftState, from: ReplicaId, request: VoteRequest, nowMs: number): Step {
  const { vote, term } = state.hardState;
  assert(request.term === term, 'R7: a vote is of the current term', request);
  if (!isFree(state, from) || !isUpToDate(state, request.last)) return sendVote(state, from, false);
  if (vote === from) {
    const isDurable = state.durable.term === term && state.durable.vote === vote;
    return isDurable ? sendVote(state, from, true) : unchanged(state);
  }
  const following = state.role.kind === 'follower' ? unchanged(state) : follow(state, undefined, nowMs);
  return andThen(following, (follower) => {
    const voted: RaftState = { ...follower, hardState: { term, vote: from } };
    // A learner may be a voter without knowing it yet: it votes, but does not campaign.
    const armed = follower.timers.election === undefined ? voted : armElection(voted, nowMs);
    return { state: armed, effects: [persist(armed, [], true)] };
  });
}

/** Refuses a pre-vote request of an earlier term, with the reason. */
export function refuseStale(state: RaftState, from: ReplicaId): Step {
  const { term } = state.hardState;
  return { state, effects: [send(from, { kind: 'pre-vote-reply', term, isGranted: false, commit: commitId(state) })] };
}

function sendVote(state: RaftState, to: ReplicaId, isGranted: boolean): Step {
  const { term } = state.hardState;
  return { state, effects: [send(to, { kind: 'vote-reply', term, isGranted, commit: commitId(state) })] };
}

function isLoyal(state: RaftState, nowMs: number): boolean {
  const { role, config } = state;
  if (role.kind === 'leader') return true;
  if (role.kind !== 'follower' || role.leader === undefined) return false;
  return nowMs < role.heardMs + config.electionWindowMs;
}

/** Returns true when it has not voted for another candidate, and knows no leader in this term. */
function isFree(state: RaftState, candidate: ReplicaId): boolean {
  const { hardState, role } = state;
  if (hardState.vote !== undefined) return hardState.vote === candidate;
  return role.kind !== 'follower' || role.leader === undefined;
}

/** Returns true when a log that ends with `last` has everything that may be committed, as far as this replica knows. */
function isUpToDate(state: RaftState, last: EntryId): boolean {
  return isNotBehind(last, lastId(state.log)) && isNotBehind(last, state.owed);
}
