/**
 * A replica that tries to become leader: a pre-candidate asks whether a quorum would vote for it, and then a candidate
 * requests votes in a term of its own.
 *
 *   campaign --> term + 1, vote for itself --> persist --> its own vote counts, the others are asked --> quorum -->
 *   leader
 *                                                                   |
 *                                   election deadline --> pre-candidate, once its own vote is on disk
 *
 * A candidate whose own vote is not on disk could, after a crash, vote for another one in the same term; so its own
 * vote is counted only once it is on disk (R7). In a group of one voter that is the whole election.
 */
import { unreachable } from '#base';
import { follow } from './become-follower.ts';
import { askForPreVotes, campaign, preCampaign } from './campaign.ts';
import { acknowledge, believe, ignoreCompletion } from './durability.ts';
import type { Persisted, ReplicaInput } from './input.ts';
import { lead } from './leader-steps.ts';
import { lastId } from './log.ts';
import type { PreVoteReply, VoteReply } from './message.ts';
import { type ReplicaId, voteResult } from './quorum.ts';
import { ignoreCampaign, refuseRead } from './refusals.ts';
import type { Candidate, PreCandidate } from './role.ts';
import { andThen, armElection, askVoters, commitId, type RaftState, type Step, unchanged } from './state.ts';
import { isDue } from './timers.ts';

export function stepCandidate(
  state: RaftState,
  role: PreCandidate | Candidate,
  input: ReplicaInput,
  nowMs: number,
): Step {
  switch (input.kind) {
    case 'tick':
      return isDue(state.timers, 'election', nowMs) ? tryAgain(state, role, nowMs) : unchanged(state);
    case 'campaign':
      if (role.kind === 'candidate') return ignoreCampaign(state, 'campaigning');
      // Replicas with a live leader ignored the request. The deadline stays: it asks again then in any case.
      return { state, effects: askForPreVotes(state) };
    case 'forget-leader':
      return unchanged(state);
    case 'read':
      return refuseRead(state, input.id, { kind: 'not-leader', leader: undefined });
    case 'persisted':
      return role.kind === 'candidate' ? countOwnVote(state, role, input, nowMs) : acknowledge(state, input);
    default:
      return unreachable(input);
  }
}

/**
 * Counts an answer. With a quorum a pre-candidate campaigns, and a candidate leads; when it cannot win it waits for its
 * next deadline.
 */
export function countVote(
  state: RaftState,
  role: PreCandidate | Candidate,
  { from, reply }: { readonly from: ReplicaId; readonly reply: PreVoteReply | VoteReply },
  nowMs: number,
): Step {
  const votes = new Map(role.votes).set(from, reply.isGranted);
  const counted: RaftState = { ...state, role: { ...role, votes } };
  switch (voteResult(state.membership.voters, (voter) => votes.get(voter))) {
    case 'won':
      return role.kind === 'candidate' ? lead(counted, nowMs) : campaign(counted, nowMs, false);
    case 'lost':
      return follow(counted, undefined, nowMs);
    case 'pending':
      return unchanged(counted);
  }
}

/**
 * Starts another attempt, unless its own vote is not on disk yet: a new term would invalidate the completion of that
 * write (R6), and a disk slower than the election window would prevent every election.
 */
function tryAgain(state: RaftState, role: PreCandidate | Candidate, nowMs: number): Step {
  return role.votes.has(state.config.self) ? preCampaign(state, nowMs) : unchanged(armElection(state, nowMs));
}

function countOwnVote(state: RaftState, role: Candidate, completion: Persisted, nowMs: number): Step {
  const believed = believe(state, completion);
  if (believed === undefined) return ignoreCompletion(state, completion);
  const { self } = state.config;
  const { term } = state.hardState;
  const own: VoteReply = { kind: 'vote-reply', term, isGranted: true, commit: commitId(state) };
  return andThen(countVote(believed, role, { from: self, reply: own }, nowMs), (counted) => {
    if (counted.role.kind !== 'candidate') return unchanged(counted);
    const last = lastId(counted.log);
    const request = {
      kind: 'vote-request',
      term,
      last,
      commit: commitId(counted),
      isTransfer: role.isTransfer,
    } as const;
    return { state: counted, effects: askVoters(counted, request) };
  });
}
