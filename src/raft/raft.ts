/**
 * `step`: one input in, the next state and the effects out. Synchronous, total over inputs and roles, and the only way
 * in which a state changes.
 */
import { unreachable } from '#base';
import { stepCandidate } from './candidate.ts';
import { handOut } from './durability.ts';
import { stepFollower } from './follower.ts';
import type { Input } from './input.ts';
import { stepLeader } from './leader.ts';
import { andThen, type RaftState, type Step } from './state.ts';

/** Answers an input. `nowMs` is the caller's monotonic clock in milliseconds; it never goes back between steps. */
export function step(state: RaftState, input: Input, nowMs: number): Step {
  return andThen(stepRole(state, input, nowMs), handOut);
}

function stepRole(state: RaftState, input: Input, nowMs: number): Step {
  const { role } = state;
  switch (role.kind) {
    case 'follower':
      return stepFollower(state, role, input, nowMs);
    case 'candidate':
      return stepCandidate(state, role, input, nowMs);
    case 'leader':
      return stepLeader(state, role, input);
    default:
      return unreachable(role);
  }
}
