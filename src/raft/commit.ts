/**
 * The commit index moves, and memberships take effect: the same for every role.
 *
 * A membership holds from the moment that its entry is known to be committed (R11). That is later than its place in the
 * log, and any two replicas that know of different ones may both be right for a while. It is safe because a leader
 * appends no change before the one before it is committed: whoever holds a change therefore knows that the one before
 * it is committed, is at most one change behind, and neighbours share a quorum.
 */
import type { LogIndex } from '#base';
import type { Effect } from './effect.ts';
import type { EntryId } from './entry.ts';
import { follow } from './follow.ts';
import { termAt } from './log.ts';
import { andThen, armElection, mayVote, type RaftState, type Step, unchanged } from './state.ts';
import { disarm } from './timers.ts';

/** Commits everything up to `index`, which is in the log. A lower index changes nothing. */
export function commitThrough(state: RaftState, index: LogIndex): Step {
  if (index <= state.commit) return unchanged(state);
  const committed: RaftState = { ...state, commit: index };
  const fact: Effect = { kind: 'fact', fact: { kind: 'committed', index } };
  const taken = state.changes.findLast((change) => change.index <= index);
  if (taken === undefined) return { state: committed, effects: [fact] };
  const { membership } = taken;
  const changes = state.changes.filter((change) => change.index > index);
  const changed: Effect = { kind: 'fact', fact: { kind: 'membership-changed', index: taken.index, membership } };
  return { state: { ...committed, membership, changes }, effects: [fact, changed] };
}

/** What anybody but a leader does when it hears that `index` is committed. */
export function learnCommit(state: RaftState, index: LogIndex, nowMs: number): Step {
  if (index <= state.commit || state.installing !== undefined) return unchanged(state);
  return andThen(commitThrough(state, index), (committed) => settleMembership(committed, nowMs));
}

/**
 * Somebody knows this entry to be committed. A leader has no use for it: it commits by its own count (R4). Everybody
 * else may need it to know the membership that it is to campaign with, or to grant votes for.
 */
export function learnCommitId(state: RaftState, id: EntryId, nowMs: number): Step {
  if (state.role.kind === 'leader' || termAt(state.log, id.index) !== id.term) return unchanged(state);
  return learnCommit(state, id.index, nowMs);
}

/** Only a voter has an election deadline, and only a voter campaigns. */
export function settleMembership(state: RaftState, nowMs: number): Step {
  if (mayVote(state)) {
    return unchanged(state.timers.election === undefined ? armElection(state, nowMs) : state);
  }
  const disarmed: RaftState = { ...state, timers: disarm(state.timers, 'election') };
  return state.role.kind === 'follower' ? unchanged(disarmed) : follow(disarmed, undefined, nowMs);
}
