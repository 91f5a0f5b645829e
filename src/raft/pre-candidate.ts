/**
 * A pre-candidate: waits until a quorum says that it would vote for it.
 */
import { unreachable } from '#base';
import { follow } from './become-follower.ts';
import { askForPreVotes, campaign, preCampaign } from './campaign.ts';
import { acknowledge } from './durability.ts';
import type { RoleInput } from './input.ts';
import type { PreVoteReply } from './message.ts';
import { type ReplicaId, tally } from './quorum.ts';
import { refuseAsNotLeader, refuseProposals, refuseRead } from './refusals.ts';
import type { PreCandidate } from './role.ts';
import { type RaftState, type Step, unchanged } from './state.ts';
import { isDue } from './timers.ts';

export function stepPreCandidate(state: RaftState, input: RoleInput, nowMs: number): Step {
  switch (input.kind) {
    case 'tick':
      return isDue(state.timers, 'election', nowMs) ? preCampaign(state, nowMs) : unchanged(state);
    case 'campaign':
      // Replicas with a live leader ignored the request. The deadline stays: it asks again then in any case.
      return { state, effects: askForPreVotes(state) };
    case 'forget-leader':
      return unchanged(state);
    case 'propose':
      return refuseProposals(state, { kind: 'not-leader', leader: undefined });
    case 'read':
      return refuseRead(state, input.id, { kind: 'not-leader', leader: undefined });
    case 'persisted':
      return acknowledge(state, input);
    case 'change-membership':
    case 'transfer-leadership':
    case 'entries-loaded':
    case 'snapshot-sent':
    case 'unreachable':
      return refuseAsNotLeader(state, input, undefined);
    default:
      return unreachable(input);
  }
}

/** Counts an answer: with a quorum it campaigns; when it cannot win it waits for its next deadline. */
export function countPreVote(
  state: RaftState,
  role: PreCandidate,
  { from, reply }: { readonly from: ReplicaId; readonly reply: PreVoteReply },
  nowMs: number,
): Step {
  const votes = new Map(role.votes).set(from, reply.isGranted);
  const counted: RaftState = { ...state, role: { kind: 'pre-candidate', votes } };
  switch (tally(state.membership.voters, (voter) => votes.get(voter))) {
    case 'won':
      return campaign(counted, nowMs, false);
    case 'lost':
      return follow(counted, undefined, nowMs);
    case 'pending':
      return unchanged(counted);
  }
}
