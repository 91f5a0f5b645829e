/**
 * How any role ends: as a follower. What waited for the role that ends is refused here, so that nobody waits for ever.
 *
 * And what a replica still does for its group when disks have lost what they had promised:
 *
 *   R15 A replica whose committed entries are not those of its group votes, acknowledges and says nothing any more.
 *   R16 A replica that lacks what it is known to have acknowledged votes as if it had it, and does not campaign before.
 */
import type { Term } from '#base';
import type { Effect } from './effect.ts';
import { type EntryId, isNotBehind } from './entry.ts';
import { lastId } from './log.ts';
import type { ReplicaId } from './quorum.ts';
import { followerOf, type Role } from './role.ts';
import { andThen, armElection, mayVote, persist, type RaftState, type Step, unchanged } from './state.ts';
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

/**
 * What is committed here is not what the group has committed: this replica takes part in nothing any more (R15). Its
 * log stays as it is.
 */
export function diverge(state: RaftState, nowMs: number): Step {
  return state.isDiverged ? unchanged(state) : follow({ ...state, isDiverged: true }, undefined, nowMs);
}

/**
 * This replica had acknowledged everything up to this entry, and a quorum may have counted on that: it votes for nobody
 * who lacks it, and does not lead before it has it again (R16).
 */
export function owe(state: RaftState, acknowledged: EntryId, nowMs: number): Step {
  if (isNotBehind(lastId(state.log), acknowledged) || isNotBehind(state.owed, acknowledged)) return unchanged(state);
  const owing: RaftState = { ...state, owed: acknowledged };
  return state.role.kind === 'follower' ? unchanged(owing) : follow(owing, undefined, nowMs);
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
