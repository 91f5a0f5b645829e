/**
 * Read index: how far a linearizable read must see.
 *
 * A read may be answered at the leader's commit index once (a) the leader has committed an entry of its term, so that
 * it knows everything any earlier leader committed, and (b) a quorum has confirmed, after the read arrived, that it
 * still leads (R5). The leader itself confirms at once: it knows its own term. The runtime then waits until the index
 * is applied, and checks again that the leadership is the same.
 */
import { assert } from '#base';
import type { Effect } from './effect.ts';
import { tally } from './quorum.ts';
import { refuseRead } from './refusals.ts';
import { type Leader, type PendingRead, type RaftState, type Step, unchanged } from './state.ts';

/** Takes a read in, confirmed so far only by the leader itself. */
export function addRead(state: RaftState, role: Leader, id: number): Step {
  const { pendingReadsMax, self } = state.config;
  if (role.reads.length >= pendingReadsMax) {
    return refuseRead(state, id, { kind: 'reads-full', countMax: pendingReadsMax });
  }
  const read: PendingRead = { id, confirmed: new Set([self]) };
  return unchanged({ ...state, role: { ...role, reads: [...role.reads, read] } });
}

/** Answers the reads that fulfil both conditions. */
export function releaseReads(state: RaftState): Step {
  const { role, commit } = state;
  assert(role.kind === 'leader', 'Only a leader holds reads', role.kind);
  if (role.reads.length === 0 || commit < role.first) return unchanged(state);
  const ready = role.reads.filter((read) => isConfirmed(state, read));
  if (ready.length === 0) return unchanged(state);
  const waiting = role.reads.filter((read) => !isConfirmed(state, read));
  const { term } = state.hardState;
  const effects = ready.map(({ id }): Effect => ({ kind: 'read-ready', id, index: commit, term }));
  return { state: { ...state, role: { ...role, reads: waiting } }, effects };
}

function isConfirmed(state: RaftState, read: PendingRead): boolean {
  return tally(state.voters, (voter) => read.confirmed.has(voter) || undefined) === 'won';
}
