/**
 * Conditions of a membership change at the leader (R11).
 *
 * It begins one change at a time, and none before it has committed in its own term: an earlier leader's change may be
 * committed without its knowledge, and two pending changes may have disjoint quorums. It also refuses a change that
 * would leave the group without a quorum, as far as it can see: a new voter must be a learner that has caught up, and a
 * majority of the new voters must be reachable.
 */

import type { MembershipRefusal } from './effect.ts';
import { isActive } from './heartbeats.ts';
import type { ChangeMembership } from './input.ts';
import { appendMembership } from './leader-steps.ts';
import { lastId } from './log.ts';
import { fault, isAt, isJoint, towards } from './membership.ts';
import { isVoter, type ReplicaId } from './quorum.ts';
import { refuseMembership } from './refusals.ts';
import { leaderOf } from './replication.ts';
import { andThen, nextIndex, type RaftState, type Step } from './state.ts';

/** Appends the first membership on the way to the target, or answers why not. */
export function changeMembership(state: RaftState, change: ChangeMembership, nowMs: number): Step {
  const { target } = change;
  const refusal = obstacle(state, change, nowMs);
  if (refusal !== undefined) return refuseMembership(state, refusal);
  const answer: Step = {
    state,
    effects: [{ kind: 'membership-answered', index: nextIndex(state), term: state.hardState.term }],
  };
  return andThen(answer, () => appendMembership(state, towards(state.membership, target)));
}

function obstacle(state: RaftState, change: ChangeMembership, nowMs: number): MembershipRefusal | undefined {
  const { membership } = state;
  const { target, isRepeated = false } = change;
  const inTheWay = changeInTheWay(state);
  if (inTheWay !== undefined) return inTheWay;
  if (isAt(membership, target)) return isRepeated ? undefined : { kind: 'no-change' };
  const { voters, learners } = target;
  const malformed = fault({ voters: { incoming: voters, outgoing: [] }, learners, learnersNext: [] });
  if (malformed !== undefined) return { kind: 'malformed', fault: malformed };
  const unready = target.voters.find(
    (voter) => !isVoter(membership.voters, voter) && memberStateOf(state, voter, nowMs) !== 'ready',
  );
  if (unready !== undefined) return { kind: 'not-caught-up', replica: unready };
  const silent = target.voters.filter((voter) => memberStateOf(state, voter, nowMs) === 'silent');
  return 2 * silent.length >= target.voters.length ? { kind: 'quorum-at-risk', unreachable: silent } : undefined;
}

/** State of a member in the view of the leader: silent, active but lagging, or active and nearly caught up. */
export type MemberState = 'silent' | 'behind' | 'ready';

/**
 * The leader's view of a member; any other replica has none. The leader itself is ready. A replica that is no member or
 * has not answered yet is silent: a change must not rely on one that was gone before this leadership began.
 */
export function memberStateOf(state: RaftState, member: ReplicaId, nowMs: number): MemberState {
  if (member === state.config.self) return 'ready';
  const peer = leaderOf(state).peers.get(member);
  if (peer?.hasAnswered !== true || !isActive(state, peer, nowMs)) return 'silent';
  const lacks = lastId(state.log).index - peer.progress.match;
  const hasCaughtUp = peer.progress.kind === 'replicate' && lacks <= state.config.replication.catchUpEntriesMax;
  return hasCaughtUp ? 'ready' : 'behind';
}

/** Why this leader cannot begin any change now; undefined when it can. */
export function changeInTheWay(
  state: Pick<RaftState, 'role' | 'membership' | 'changes' | 'commit'>,
): MembershipRefusal | undefined {
  const role = leaderOf(state);
  const { membership, changes, commit } = state;
  if (role.transfer !== undefined) return { kind: 'transferring', to: role.transfer.to };
  const [pending] = changes;
  if (pending !== undefined) return { kind: 'change-in-flight', index: pending.index };
  if (commit < role.first) return { kind: 'term-not-committed' };
  return isJoint(membership) ? { kind: 'change-in-flight', index: commit } : undefined;
}
