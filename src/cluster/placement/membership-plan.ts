/**
 * The next safe step from the current membership of a group to the wanted one. A pure function: the leader calls it
 * again after every step, and a new leader continues from wherever the last one stopped.
 *
 *   [1 2 3] -> [1 2 4]      3 leads        3 transfers to 1 or 2
 *                           1 leads        4 becomes a learner, and catches up
 *                                          [1 2 4], through the joint membership, which Raft leaves by itself
 *   [1]     -> [2]          1 leads        2 becomes a learner, and catches up
 *                                          [2 1], because 1 has no transfer target yet
 *                                          1 transfers to 2; 2 leads: [2]
 *
 *   C13  A new voter was a learner that had caught up; a voter is removed only after its replacements
 *        are voters; a leader that is removed transfers its leadership first. One change at a time.
 */
import { everybody, isAt, type MemberState, type Membership, type ReplicaId, type Target } from '#raft';

export interface MembershipView {
  /** The leader. */
  readonly self: ReplicaId;
  readonly membership: Membership;
  /** A change or a transfer is in progress, or the term has no commit yet. */
  readonly isBusy: boolean;
  /** Progress of every other member. */
  readonly states: ReadonlyMap<ReplicaId, MemberState>;
}

export type MembershipStep =
  | { readonly kind: 'done' }
  /** These must answer or catch up; if empty, the change in progress must end. */
  | { readonly kind: 'wait'; readonly for: readonly ReplicaId[] }
  | { readonly kind: 'change'; readonly target: Target }
  /** To one of these. */
  | { readonly kind: 'transfer'; readonly to: readonly ReplicaId[] };

export function planMembership(view: MembershipView, target: Target): MembershipStep {
  const { self, membership, isBusy } = view;
  if (isBusy) return waitFor([]);
  if (isAt(membership, target)) return { kind: 'done' };
  const voters = membership.voters.incoming;
  const wanted = [...target.voters, ...target.learners];
  const known = everybody(membership);
  const missing = wanted.filter((each) => !known.includes(each));
  if (missing.length > 0) {
    const staying = membership.learners.filter((learner) => wanted.includes(learner));
    return { kind: 'change', target: { voters, learners: [...staying, ...missing] } };
  }
  const unready = target.voters.filter((each) => !voters.includes(each) && stateOf(view, each) !== 'ready');
  if (unready.length > 0) return waitFor(unready);
  if (target.voters.includes(self)) return change(view, target);
  const successors = target.voters.filter((each) => voters.includes(each) && stateOf(view, each) === 'ready');
  if (successors.length > 0) return { kind: 'transfer', to: successors };
  const learners = target.learners.filter((learner) => learner !== self);
  return change(view, { voters: [...target.voters, self], learners });
}

/** Changes of voters wait until most of the new voters answer: the group would have no quorum otherwise. */
function change(view: MembershipView, target: Target): MembershipStep {
  const silent = target.voters.filter((voter) => stateOf(view, voter) === 'silent');
  const isAtRisk = 2 * silent.length >= target.voters.length;
  if (isAtRisk || isAt(view.membership, target)) return waitFor(isAtRisk ? silent : target.voters);
  return { kind: 'change', target };
}

function stateOf({ self, states }: MembershipView, member: ReplicaId): MemberState {
  return member === self ? 'ready' : (states.get(member) ?? 'silent');
}

function waitFor(members: readonly ReplicaId[]): MembershipStep {
  return { kind: 'wait', for: members };
}
