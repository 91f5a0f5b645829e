/**
 * Refusals: always with a reason, never silent.
 */
import { unreachable } from '#base';
import type { CampaignIgnored, MembershipRefusal, Refusal, TransferIgnored } from './effect.ts';
import type { LeaderInput } from './input.ts';
import type { ReplicaId } from './quorum.ts';
import { nextIndex, type RaftState, type Step, unchanged } from './state.ts';

export function refuseProposals(state: RaftState, refused: Refusal): Step {
  const { term } = state.hardState;
  return { state, effects: [{ kind: 'proposed', term, first: nextIndex(state), accepted: 0, refused }] };
}

export function refuseRead(state: RaftState, id: number, refusal: Refusal): Step {
  return { state, effects: [{ kind: 'read-refused', id, refusal }] };
}

export function refuseMembership(state: RaftState, refusal: MembershipRefusal): Step {
  return { state, effects: [{ kind: 'membership-refused', refusal }] };
}

export function ignoreCampaign(state: RaftState, reason: CampaignIgnored): Step {
  return { state, effects: [{ kind: 'fact', fact: { kind: 'campaign-ignored', reason } }] };
}

export function ignoreTransfer(state: RaftState, reason: TransferIgnored): Step {
  return { state, effects: [{ kind: 'fact', fact: { kind: 'transfer-ignored', reason } }] };
}

/** Refuses inputs for a leader at any other role; completions of an ended leadership are ignored. */
export function refuseAsNotLeader(state: RaftState, input: LeaderInput, leader: ReplicaId | undefined): Step {
  switch (input.kind) {
    case 'propose':
      return refuseProposals(state, { kind: 'not-leader', leader });
    case 'change-membership':
      return refuseMembership(state, { kind: 'not-leader', leader });
    case 'transfer-leadership':
      return ignoreTransfer(state, 'not-leader');
    case 'entries-loaded':
    case 'snapshot-sent':
    case 'unreachable':
      return unchanged(state);
    default:
      return unreachable(input);
  }
}
