/**
 * A follower. It campaigns when it has no leader at its election deadline, or on request.
 */
import { unreachable } from '#base';
import { refuseReads } from './become-follower.ts';
import { preCampaign } from './campaign.ts';
import { acknowledge } from './durability.ts';
import { askLeader, giveUpReads } from './follower-reads.ts';
import type { ReplicaInput } from './input.ts';
import { acknowledgeAppends } from './leader-messages.ts';
import type { Follower } from './role.ts';
import { andThen, type RaftState, type Step, unchanged } from './state.ts';
import { disarm, isDue } from './timers.ts';

export function stepFollower(state: RaftState, role: Follower, input: ReplicaInput, nowMs: number): Step {
  switch (input.kind) {
    case 'tick':
      return tick(state, role, nowMs);
    case 'campaign':
      return preCampaign(state, nowMs);
    case 'forget-leader':
      return forgetLeader(state, role);
    case 'read':
      return askLeader(state, role, input.id, nowMs);
    case 'persisted':
      return andThen(acknowledge(state, input), acknowledgeAppends);
    default:
      return unreachable(input);
  }
}

function tick(state: RaftState, role: Follower, nowMs: number): Step {
  const asked = isDue(state.timers, 'read', nowMs) ? giveUpReads(state, role, nowMs) : unchanged(state);
  return isDue(state.timers, 'election', nowMs) ? andThen(asked, (late) => preCampaign(late, nowMs)) : asked;
}

/** Allows votes at once; its own election deadline does not change. */
function forgetLeader(state: RaftState, role: Follower): Step {
  const forgotten: RaftState = {
    ...state,
    timers: disarm(state.timers, 'read'),
    role: { ...role, leader: undefined, reads: [] },
  };
  return { state: forgotten, effects: refuseReads(role, undefined) };
}
