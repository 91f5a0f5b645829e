/**
 * How any role ends: as a follower. What waited for the role that ends is refused here, so that nobody waits for ever.
 */
import type { Term } from '#base';
import type { Effect } from './effect.ts';
import type { ReplicaId } from './quorum.ts';
import { followerOf, type Role } from './role.ts';
import { andThen, armElection, mayVote, persist, type RaftState, type Step } from './state.ts';
import { NO_TIMERS } from './timers.ts';

/** Follows `leader`, or nobody yet, in the term that it is in. */
export function follow(state: RaftState, leader: ReplicaId | undefined, nowMs: number): Step {
  const { term } = state.hardState;
  const followed: RaftState = { ...state, timers: NO_TIMERS, role: followerOf(leader, nowMs) };
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-follower', term, leader } };
  return {
    state: mayVote(followed) ? armElection(followed, nowMs) : followed,
    effects: [fact, ...refuseReads(state.role, leader)],
  };
}

/** Enters a later term as a follower that has not voted in it. */
export function enterTerm(state: RaftState, term: Term, leader: ReplicaId | undefined, nowMs: number): Step {
  const entered: RaftState = { ...state, hardState: { term, vote: undefined } };
  return andThen(follow(entered, leader, nowMs), (followed) => ({
    state: followed,
    effects: [persist(followed, [], true)],
  }));
}

/** Refuses the reads of this replica that wait in the role. Those that others forwarded end with their own roles. */
export function refuseReads(role: Role, leader: ReplicaId | undefined): readonly Effect[] {
  const refusal = { kind: 'not-leader', leader } as const;
  switch (role.kind) {
    case 'follower':
      return role.reads.map(({ id }): Effect => ({ kind: 'read-refused', id, refusal }));
    case 'leader':
      return role.reads.flatMap(({ id, from }): readonly Effect[] =>
        from === undefined ? [{ kind: 'read-refused', id, refusal }] : [],
      );
    case 'pre-candidate':
    case 'candidate':
      return [];
  }
}
