/**
 * A candidate: it asks for votes in a term of its own.
 *
 *   campaign --> term + 1, vote for itself --> persist --> its own vote counts --> quorum --> leader
 *                        ^                                                     |
 *                        +---------------- election deadline ------------------+
 *
 * A candidate whose own vote is not on disk could, after a crash, vote for somebody else in the same term; so its own
 * vote is counted only when the disk says so (R7). In a group of one voter that is the whole election.
 */
import { toTerm, unreachable } from '#base';
import { type Completion, ignoreCompletion, isCurrent, recordApplied } from './durability.ts';
import type { Effect } from './effect.ts';
import type { Input } from './input.ts';
import { lead } from './leader.ts';
import { lastId, markPersisted } from './log.ts';
import { isVoter, members, tally } from './quorum.ts';
import { ignoreCampaign, refuseProposals, refuseRead } from './refusals.ts';
import { armElection, type Candidate, persist, type RaftState, type Step, unchanged } from './state.ts';
import { isDue } from './timers.ts';

export function stepCandidate(state: RaftState, role: Candidate, input: Input, nowMs: number): Step {
  switch (input.kind) {
    case 'tick':
      return isDue(state.timers, 'election', nowMs) ? tryAgain(state, role, nowMs) : unchanged(state);
    case 'campaign':
      return ignoreCampaign(state, 'campaigning');
    case 'propose':
      return refuseProposals(state, { kind: 'not-leader', leader: undefined });
    case 'read':
      return refuseRead(state, input.id, { kind: 'not-leader', leader: undefined });
    case 'persisted':
      return countOwnVote(state, role, input);
    case 'applied':
      return recordApplied(state, input.index);
    default:
      return unreachable(input);
  }
}

/** Enters the next term as a candidate: votes for itself and asks every other voter. */
export function campaign(state: RaftState, nowMs: number): Step {
  const { self } = state.config;
  if (!isVoter(state.voters, self)) return ignoreCampaign(state, 'not-a-voter');
  const term = toTerm(state.hardState.term + 1);
  const entered: RaftState = {
    ...state,
    hardState: { term, vote: self },
    role: { kind: 'candidate', votes: new Map() },
  };
  const armed = armElection(entered, nowMs);
  const requests = members(state.voters)
    .filter((voter) => voter !== self)
    .map((to): Effect => ({ kind: 'send', to, message: { kind: 'vote-request', term, last: lastId(armed.log) } }));
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-candidate', term } };
  return { state: armed, effects: [fact, persist(armed, [], true), ...requests] };
}

/**
 * A new term for a new attempt; but while its own vote is still on its way to the disk another term would only make
 * the disk's answer worthless (R6), and a disk slower than the election window would never elect anybody.
 */
function tryAgain(state: RaftState, role: Candidate, nowMs: number): Step {
  return role.votes.has(state.config.self) ? campaign(state, nowMs) : unchanged(armElection(state, nowMs));
}

function countOwnVote(state: RaftState, role: Candidate, completion: Completion): Step {
  if (!isCurrent(state, completion)) return ignoreCompletion(state, completion);
  const votes = new Map(role.votes).set(state.config.self, true);
  const log = markPersisted(state.log, completion.index);
  const counted: RaftState = { ...state, log, role: { kind: 'candidate', votes } };
  return tally(state.voters, (voter) => votes.get(voter)) === 'won' ? lead(counted) : unchanged(counted);
}
