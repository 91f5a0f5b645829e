/**
 * The two ways to start an election.
 *
 *   deadline, campaign --> pre-candidate --> quorum would vote --> candidate (term + 1)
 *   leader transfer    ----------------------------------------->
 *
 * A pre-candidate changes nothing, so that a replica that cannot win does not drive the others into new terms.
 */
import { toTerm } from '#base';
import { refuseReads } from './become-follower.ts';
import type { CampaignIgnored, Effect } from './effect.ts';
import { isNotBehind } from './entry.ts';
import { lastId } from './log.ts';
import { voteResult } from './quorum.ts';
import { ignoreCampaign } from './refusals.ts';
import type { Votes } from './role.ts';
import { armElection, askVoters, commitId, mayVote, persist, type RaftState, type Step } from './state.ts';
import { NO_TIMERS } from './timers.ts';

/** Asks whether it would win an election. A sole voter skips the question. */
export function preCampaign(state: RaftState, nowMs: number): Step {
  const reason = obstacle(state);
  if (reason !== undefined) return ignoreCampaign(mayVote(state) ? armElection(state, nowMs) : state, reason);
  const { self } = state.config;
  const { term } = state.hardState;
  const votes: Votes = new Map([[self, true]]);
  if (voteResult(state.membership.voters, (voter) => votes.get(voter)) === 'won') return campaign(state, nowMs, false);
  const armed = armElection({ ...state, timers: NO_TIMERS, role: { kind: 'pre-candidate', votes } }, nowMs);
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-pre-candidate', term } };
  return { state: armed, effects: [fact, ...refuseReads(state.role, undefined), ...askForPreVotes(state)] };
}

/** Sends pre-vote requests to all other voters; repeated, because a voter may have ignored the previous ones. */
export function askForPreVotes(state: RaftState): readonly Effect[] {
  const { term } = state.hardState;
  return askVoters(state, { kind: 'pre-vote-request', term, last: lastId(state.log), commit: commitId(state) });
}

/**
 * Enters the next term as a candidate that votes for itself. It requests votes once its own vote is on disk (R9): the
 * votes apply to its current log, and after a crash it must not count them for a shorter one.
 */
export function campaign(state: RaftState, nowMs: number, isTransfer: boolean): Step {
  const reason = obstacle(state);
  if (reason !== undefined) return ignoreCampaign(state, reason);
  const term = toTerm(state.hardState.term + 1);
  const entered: RaftState = {
    ...state,
    hardState: { term, vote: state.config.self },
    timers: NO_TIMERS,
    role: { kind: 'candidate', votes: new Map(), isTransfer },
  };
  const armed = armElection(entered, nowMs);
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-candidate', term } };
  return { state: armed, effects: [fact, ...refuseReads(state.role, undefined), persist(armed, [], true)] };
}

function obstacle(state: RaftState): CampaignIgnored | undefined {
  if (!mayVote(state)) return 'not-a-voter';
  if (state.installing !== undefined) return 'installing';
  return isNotBehind(lastId(state.log), state.owed) ? undefined : 'owing';
}
