/**
 * Handling of the leader's messages at a follower.
 *
 * `verified` is the index up to which appends of this term have shown its log to be equal to the leader's. It
 * acknowledges the durable part of that, once it is on disk (R9, R10); one answer covers all appends received before.
 */
import { assert, toLogIndex, unreachable } from '#base';
import { diverge, refuseReads } from './become-follower.ts';
import { campaign } from './campaign.ts';
import { learnCommit } from './commit.ts';
import type { Effect } from './effect.ts';
import type { Entry, EntryId, Snapshot } from './entry.ts';
import { append, lastId, lastWithin, termAt, truncateFrom } from './log.ts';
import type { Append, LeaderMessage, ReadReply } from './message.ts';
import type { ReplicaId } from './quorum.ts';
import { refuseRead } from './refusals.ts';
import type { Follower } from './role.ts';
import {
  andThen,
  armElection,
  changesIn,
  mayVote,
  persist,
  type RaftState,
  type Step,
  send,
  unchanged,
} from './state.ts';

function followerIn({ role }: RaftState): Follower {
  assert(role.kind === 'follower', 'R13: no other replica leads in the term of a leader', role.kind);
  return role;
}

/** Handles a message of the leader of this term. */
export function hearLeader(state: RaftState, from: ReplicaId, message: LeaderMessage, nowMs: number): Step {
  const heard = hear(state, from, nowMs);
  return andThen(heard, (following) => answer(following, from, message, nowMs));
}

/** Acknowledges verified and durable entries, if an append waits for it (R9). */
export function acknowledgeAppends(state: RaftState): Step {
  const role = followerIn(state);
  const { term } = state.hardState;
  if (!role.owesAck || role.leader === undefined || state.durable.term !== term) return unchanged(state);
  const match = toLogIndex(Math.min(role.verified, state.log.persisted));
  const owesAck = match < role.verified;
  return {
    state: { ...state, role: { ...role, owesAck } },
    effects: [send(role.leader, { kind: 'append-ack', term, match })],
  };
}

/** The snapshot has replaced the log, in the state machine and on disk. */
export function snapshotInstalled(state: RaftState, { last, membership }: Snapshot): Step {
  const { installing } = state;
  assert(installing?.last.index === last.index, 'R10: what is installed was asked for', last);
  const installed: RaftState = {
    ...state,
    installing: undefined,
    membership,
    changes: [],
    log: { base: last, runs: [], persisted: last.index, bytes: 0 },
    commit: last.index,
    applying: last.index,
    applied: last.index,
  };
  const { role } = installed;
  if (role.kind !== 'follower') return unchanged(installed);
  return acknowledgeAppends({ ...installed, role: { ...role, verified: last.index, owesAck: true } });
}

function answer(state: RaftState, from: ReplicaId, message: LeaderMessage, nowMs: number): Step {
  const { term } = state.hardState;
  switch (message.kind) {
    case 'append':
      return takeAppend(state, from, message, nowMs);
    case 'commit':
      return takeCommit(state, message.commit, nowMs);
    case 'beat': {
      const answered: Step = { state, effects: [send(from, { kind: 'beat-ack', term, round: message.round })] };
      return andThen(answered, (beaten) => takeCommit(beaten, message.commit, nowMs));
    }
    case 'read-reply':
      return takeReadReply(state, message);
    case 'timeout-now':
      return campaign(state, nowMs, true);
    case 'install-snapshot':
      return takeSnapshot(state, message.snapshot, nowMs);
    default:
      return unreachable(message);
  }
}

/** Sets the leader, and the time of its last message. */
function hear(state: RaftState, from: ReplicaId, nowMs: number): Step {
  const role = followerIn(state);
  const heard: RaftState = { ...state, role: { ...role, leader: from, heardMs: nowMs } };
  const armed = mayVote(state) ? armElection(heard, nowMs) : heard;
  if (role.leader === from) return unchanged(armed);
  const { term } = state.hardState;
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-follower', term, leader: from } };
  return { state: armed, effects: [fact, ...refuseReads(role, from)] };
}

function takeAppend(state: RaftState, from: ReplicaId, message: Append, nowMs: number): Step {
  if (state.installing !== undefined) return unchanged(state);
  const { previous, entries } = message;
  const other = otherThan(state, message);
  if (other !== undefined) return leaveHistory(state, from, other, nowMs);
  if (previous.index > state.commit && termAt(state.log, previous.index) !== previous.term) {
    const { term } = state.hardState;
    const hint = lastWithin(state.log, previous);
    return { state, effects: [send(from, { kind: 'append-reject', term, rejected: previous.index, hint })] };
  }
  return andThen(takeEntries(state, entries), (taken) => {
    const role = followerIn(taken);
    const verified = toLogIndex(Math.max(role.verified, previous.index + entries.length));
    const owing: RaftState = { ...taken, role: { ...role, verified, owesAck: true } };
    return andThen(takeCommit(owing, message.commit, nowMs), (learned) =>
      verified <= learned.log.persisted ? acknowledgeAppends(learned) : unchanged(learned),
    );
  });
}

/**
 * The first entry of the leader that differs from a committed entry here. Committed entries are in every leader's log
 * (R4), unless a disk has lost acknowledged entries. Terms below the log in memory are unknown.
 */
function otherThan({ log, commit }: RaftState, { previous, entries }: Append): EntryId | undefined {
  if (previous.index > commit) return undefined;
  const isOther = ({ index, term }: EntryId): boolean => index <= commit && (termAt(log, index) ?? term) !== term;
  return isOther(previous) ? previous : entries.find(isOther);
}

function leaveHistory(state: RaftState, leader: ReplicaId, { index, term }: EntryId, nowMs: number): Step {
  const here = termAt(state.log, index) ?? term;
  const fact: Effect = { kind: 'fact', fact: { kind: 'diverged', leader, index, here, there: term } };
  return andThen({ state, effects: [fact] }, (told) => diverge(told, nowMs));
}

/** Appends the missing entries; truncates from the first entry that differs (R10). */
function takeEntries(state: RaftState, entries: readonly Entry[]): Step {
  const at = entries.findIndex(({ index, term }) => index > state.commit && termAt(state.log, index) !== term);
  const first = entries[at];
  if (first === undefined) return unchanged(state);
  const added = at === 0 ? entries : entries.slice(at);
  const conflicts = first.index <= lastId(state.log).index;
  assert(first.index > state.commit, 'R10: what is committed is never overwritten', first.index);
  const kept = conflicts ? truncateFrom(state.log, first.index) : state.log;
  const changes = conflicts ? state.changes.filter(({ index }) => index < first.index) : state.changes;
  const found = changesIn(added);
  const taken: RaftState = {
    ...state,
    log: append(kept, added),
    changes: found.length === 0 ? changes : [...changes, ...found],
  };
  const written = persist(taken, added, false);
  return { state: taken, effects: [conflicts ? { ...written, truncateFrom: first.index } : written] };
}

/**
 * Accepts the leader's commit index as far as the log is known to equal the leader's: verified by appends, or because
 * the log ends with an entry of the leader's term, which only this leader has written and whose predecessors are equal
 * everywhere. Without the latter, a restarted follower would not learn the commit of acknowledged entries until the
 * next append.
 */
function takeCommit(state: RaftState, commit: number, nowMs: number): Step {
  const { verified } = followerIn(state);
  const last = lastId(state.log);
  const known = last.term === state.hardState.term ? last.index : verified;
  return learnCommit(state, toLogIndex(Math.min(commit, Math.max(known, verified))), nowMs);
}

/** Installs a snapshot when the log lacks its last entry; otherwise commits up to it. */
function takeSnapshot(state: RaftState, snapshot: Snapshot, nowMs: number): Step {
  if (state.installing !== undefined) return unchanged(state);
  const { last } = snapshot;
  const isHeld = last.index <= state.commit || termAt(state.log, last.index) === last.term;
  if (!isHeld) return { state: { ...state, installing: snapshot }, effects: [{ kind: 'install-snapshot', snapshot }] };
  const role = followerIn(state);
  const verified = toLogIndex(Math.max(role.verified, last.index));
  const owing: RaftState = { ...state, role: { ...role, verified, owesAck: true } };
  return andThen(learnCommit(owing, last.index, nowMs), acknowledgeAppends);
}

function takeReadReply(state: RaftState, { id: ticket, index }: ReadReply): Step {
  const role = followerIn(state);
  const read = role.reads.find((each) => each.ticket === ticket);
  if (read === undefined) return unchanged(state);
  const reads = role.reads.filter((each) => each !== read);
  const answered: RaftState = { ...state, role: { ...role, reads } };
  const { pendingReadsMax } = state.config;
  if (index === undefined) return refuseRead(answered, read.id, { kind: 'reads-full', countMax: pendingReadsMax });
  const { term } = state.hardState;
  return { state: answered, effects: [{ kind: 'read-ready', id: read.id, index, term }] };
}
