/**
 * Ends any role: the replica becomes a follower, and requests that waited in the role are refused.
 *
 * It also defines the participation of a replica when disks have lost acknowledged entries:
 *
 *   R15 A replica whose committed entries differ from those of its group no longer votes, acknowledges or sends.
 *   R16 A replica that lacks entries that it had acknowledged votes as if it had them, and does not campaign before it
 *       has them again.
 */
import type { Term } from '#base';
import type { Effect } from './effect.ts';
import { type EntryId, isNotBehind } from './entry.ts';
import { lastId } from './log.ts';
import type { ReplicaId } from './quorum.ts';
import { followerOf, type Role } from './role.ts';
import { andThen, armElection, mayVote, persist, type RaftState, type Step, unchanged } from './state.ts';
import { NO_TIMERS } from './timers.ts';

/** Follows `leader`, or no leader yet, in the current term. */
export function follow(state: RaftState, leader: ReplicaId | undefined, nowMs: number): Step {
  const { term } = state.hardState;
  const followed: RaftState = { ...state, timers: NO_TIMERS, role: followerOf(leader, nowMs) };
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-follower', term, leader } };
  return {
    state: mayVote(followed) ? armElection(followed, nowMs) : followed,
    effects: [fact, ...refuseReads(state.role, leader)],
  };
}

/** Enters a later term as a follower without a vote. */
export function enterTerm(state: RaftState, term: Term, leader: ReplicaId | undefined, nowMs: number): Step {
  const entered: RaftState = { ...state, hardState: { term, vote: undefined } };
  return andThen(follow(entered, leader, nowMs), (followed) => ({
    state: followed,
    effects: [persist(followed, [], true)],
  }));
}

/** Stops all participation, because a committed entry differs from the group's (R15). The log remains. */
export function diverge(state: RaftState, nowMs: number): Step {
  return state.isDiverged ? unchanged(state) : follow({ ...state, isDiverged: true }, undefined, nowMs);
}

/**
 * Records that this replica had acknowledged all entries up to this one, on which a quorum may have counted: it votes
 * for no candidate that lacks them, and does not lead before it has them again (R16).
 */
export function owe(state: RaftState, acknowledged: EntryId, nowMs: number): Step {
  if (isNotBehind(lastId(state.log), acknowledged) || isNotBehind(state.owed, acknowledged)) return unchanged(state);
  const owing: RaftState = { ...state, owed: acknowledged };
  return state.role.kind === 'follower' ? unchanged(owing) : follow(owing, undefined, nowMs);
}

/** Refuses the reads of this replica that wait in the role. Other replicas refuse the reads that they forwarded. */
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
