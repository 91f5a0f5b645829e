/**
 * The members of a group: voters, and learners, which only receive entries.
 *
 *   [1 2 3]  --change-->  [1 2 4] and [1 2 3]  --leave-->  [1 2 4]
 *    simple                  joint                          simple
 *
 * Every change of voters uses a joint membership, in which each decision needs a majority of both halves; the leader
 * leaves it automatically (R11). A change of learners only needs no such step, since no majority changes. A voter that
 * becomes a learner remains a voter of the outgoing half until the change is left.
 *
 * An entry contains the whole membership, not a difference, so that a replica that starts from a snapshot needs no
 * history.
 */
import { assert } from '#base';
import { isVoter, members, type ReplicaId, type VoterSet, voterSet } from './quorum.ts';

export interface Membership {
  readonly voters: VoterSet;
  /** Learners; none of them is a voter. */
  readonly learners: readonly ReplicaId[];
  /** Voters of the outgoing half that become learners when the change is left. Empty outside of a change. */
  readonly learnersNext: readonly ReplicaId[];
}

/** The requested membership. */
export interface Target {
  readonly voters: readonly ReplicaId[];
  readonly learners: readonly ReplicaId[];
}

/** A membership outside of a change. */
export function membershipOf(voters: readonly ReplicaId[], learners: readonly ReplicaId[] = []): Membership {
  assert(
    learners.every((learner) => !voters.includes(learner)),
    'No replica is a voter and a learner',
    { voters, learners },
  );
  return { voters: voterSet(voters), learners, learnersNext: [] };
}

export function isJoint(membership: Membership): boolean {
  return membership.voters.outgoing.length > 0;
}

/** All members without duplicates: voters of both halves, then learners. */
export function everybody(membership: Membership): readonly ReplicaId[] {
  return membership.learners.length === 0
    ? members(membership.voters)
    : [...members(membership.voters), ...membership.learners];
}

/** Returns true when the membership is the target already. */
export function isAt(membership: Membership, target: Target): boolean {
  return (
    !isJoint(membership) &&
    sameSet(membership.voters.incoming, target.voters) &&
    sameSet(membership.learners, target.learners)
  );
}

/** The next membership on the way to the target: the target itself, or the joint one before it. */
export function towards(membership: Membership, target: Target): Membership {
  assert(!isJoint(membership), 'A change begins outside of any other', membership);
  const current = membership.voters.incoming;
  if (sameSet(current, target.voters)) return membershipOf(current, target.learners);
  return {
    voters: { incoming: target.voters, outgoing: current },
    learners: target.learners.filter((learner) => !current.includes(learner)),
    learnersNext: target.learners.filter((learner) => current.includes(learner)),
  };
}

/** The membership that a joint one leads to. */
export function leave(membership: Membership): Membership {
  assert(isJoint(membership), 'Only a change is left', membership);
  const { voters, learners, learnersNext } = membership;
  return { voters: voterSet(voters.incoming), learners: [...learners, ...learnersNext], learnersNext: [] };
}

/** Why a membership is invalid; undefined when it is valid. */
export function fault(membership: Membership): string | undefined {
  const { voters, learners, learnersNext } = membership;
  if (voters.incoming.length === 0) return 'a group has at least one voter';
  const lists = [voters.incoming, voters.outgoing, learners, learnersNext];
  if (lists.some((list) => new Set(list).size !== list.length)) return 'a member is named once';
  if (learners.some((learner) => isVoter(voters, learner))) return 'no replica is a voter and a learner';
  if (learnersNext.some((next) => !voters.outgoing.includes(next))) return 'only an outgoing voter becomes a learner';
  if (learnersNext.some((next) => voters.incoming.includes(next))) return 'an incoming voter stays one';
  return undefined;
}

function sameSet(some: readonly ReplicaId[], others: readonly ReplicaId[]): boolean {
  return some.length === others.length && some.every((each) => others.includes(each));
}
