/**
 * Advances the commit index and applies memberships, in every role.
 *
 * A membership takes effect once its entry is known to be committed (R11), which is later than its position in the log,
 * so two replicas may use different memberships for a while. This is safe because a leader appends no change before the
 * previous one is committed: a replica with a change in its log knows that the previous one is committed, is at most
 * one change behind, and consecutive memberships share a quorum.
 */
import type { LogIndex } from '#base';
import { follow } from './become-follower.ts';
import type { Effect } from './effect.ts';
import type { EntryId } from './entry.ts';
import { termAt } from './log.ts';
import { andThen, armElection, mayVote, type RaftState, type Step, unchanged } from './state.ts';
import { disarm } from './timers.ts';

/** Commits everything up to `index`, which is in the log. A lower index has no effect. */
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

/** Advances the commit index of a replica that is not the leader. */
export function learnCommit(state: RaftState, index: LogIndex, nowMs: number): Step {
  if (index <= state.commit || state.installing !== undefined) return unchanged(state);
  return andThen(commitThrough(state, index), (committed) => settleMembership(committed, nowMs));
}

/**
 * Learns that this entry is committed. A leader ignores it: it commits by its own count (R4). Other replicas may need
 * it to learn the membership in which they campaign or vote.
 */
export function learnCommitId(state: RaftState, id: EntryId, nowMs: number): Step {
  if (state.role.kind === 'leader' || termAt(state.log, id.index) !== id.term) return unchanged(state);
  return learnCommit(state, id.index, nowMs);
}

/** Arms the election deadline of a voter, and disarms that of any other replica, which must not campaign. */
export function settleMembership(state: RaftState, nowMs: number): Step {
  if (mayVote(state)) {
    return unchanged(state.timers.election === undefined ? armElection(state, nowMs) : state);
  }
  const disarmed: RaftState = { ...state, timers: disarm(state.timers, 'election') };
  return state.role.kind === 'follower' ? unchanged(disarmed) : follow(disarmed, undefined, nowMs);
}
