/**
 * `step`: computes the next state and the effects of one input. It is synchronous, total over inputs and roles, and the
 * only function that changes a state.
 */
import { diverge, owe } from './become-follower.ts';
import { stepCandidate } from './candidate.ts';
import { settleMembership } from './commit.ts';
import { handOut, recordApplied } from './durability.ts';
import { stepFollower } from './follower.ts';
import type { Input, RoleInput } from './input.ts';
import { stepLeader } from './leader.ts';
import { snapshotInstalled } from './leader-messages.ts';
import { receive } from './receive.ts';
import { refuseAsNotLeader } from './refusals.ts';
import { andThen, type RaftState, type Step } from './state.ts';

/** Handles an input. `nowMs` is the caller's monotonic clock in milliseconds; it never decreases between steps. */
export function step(state: RaftState, input: Input, nowMs: number): Step {
  return andThen(stepAny(state, input, nowMs), handOut);
}

function stepAny(state: RaftState, input: Input, nowMs: number): Step {
  // The remaining inputs are `RoleInput`, which every role handles.
  if (input.kind === 'receive') return receive(state, input.from, input.message, nowMs);
  if (input.kind === 'diverge') return diverge(state, nowMs);
  if (input.kind === 'owe') return owe(state, input.acknowledged, nowMs);
  if (input.kind === 'applied') return recordApplied(state, input);
  if (input.kind === 'snapshot-installed') {
    return andThen(snapshotInstalled(state, input.snapshot), (installed) => settleMembership(installed, nowMs));
  }
  return stepRole(state, input, nowMs);
}

function stepRole(state: RaftState, input: RoleInput, nowMs: number): Step {
  const { role } = state;
  if (role.kind === 'leader') return stepLeader(state, role, input, nowMs);
  switch (input.kind) {
    case 'tick':
    case 'campaign':
    case 'forget-leader':
    case 'read':
    case 'persisted':
      return role.kind === 'follower'
        ? stepFollower(state, role, input, nowMs)
        : stepCandidate(state, role, input, nowMs);
    case 'propose':
    case 'change-membership':
    case 'transfer-leadership':
    case 'entries-loaded':
    case 'snapshot-sent':
    case 'unreachable':
      return refuseAsNotLeader(state, input, role.kind === 'follower' ? role.leader : undefined);
  }
}
