/**
 * A follower: it waits. Without a leader by its election deadline, or when it is told to, it campaigns.
 */
import { unreachable } from '#base';
import { campaign } from './candidate.ts';
import { acknowledge, recordApplied } from './durability.ts';
import type { Input } from './input.ts';
import { refuseProposals, refuseRead } from './refusals.ts';
import { type Follower, type RaftState, type Step, unchanged } from './state.ts';
import { isDue } from './timers.ts';

export function stepFollower(state: RaftState, role: Follower, input: Input, nowMs: number): Step {
  switch (input.kind) {
    case 'tick':
      return isDue(state.timers, 'election', nowMs) ? campaign(state, nowMs) : unchanged(state);
    case 'campaign':
      return campaign(state, nowMs);
    case 'propose':
      return refuseProposals(state, { kind: 'not-leader', leader: role.leader });
    case 'read':
      return refuseRead(state, input.id, { kind: 'not-leader', leader: role.leader });
    case 'persisted':
      return acknowledge(state, input);
    case 'applied':
      return recordApplied(state, input.index);
    default:
      return unreachable(input);
  }
}
