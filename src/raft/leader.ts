/**
 * A leader: it appends, counts who holds what, and commits.
 *
 * It opens its term with a no-op: an entry of an earlier term is committed only by committing one of its own behind it
 * (the paper's Figure 8), and before that it does not know what is committed at all (R4, R5).
 * Its own disk is one voter among the others: nothing commits because it was appended, only because a quorum reports
 * it durable.
 */
import { assert, type LogIndex, toLogIndex, unreachable } from '#base';
import { type Completion, ignoreCompletion, isCurrent, recordApplied } from './durability.ts';
import type { Effect, Refusal } from './effect.ts';
import type { Input } from './input.ts';
import { append, type Entry, markPersisted, slice, termAt } from './log.ts';
import { members, quorumIndex, type ReplicaId } from './quorum.ts';
import { addRead, releaseReads } from './read-index.ts';
import { ignoreCampaign } from './refusals.ts';
import {
  andThen,
  type Leader,
  nextEntries,
  nextIndex,
  persist,
  type RaftState,
  type Step,
  unchanged,
} from './state.ts';
import { NO_TIMERS } from './timers.ts';

const NO_OP = new Uint8Array(0);

export function stepLeader(state: RaftState, role: Leader, input: Input): Step {
  switch (input.kind) {
    case 'tick':
      return unchanged(state);
    case 'campaign':
      return ignoreCampaign(state, 'leading');
    case 'propose':
      return propose(state, role, input.payloads);
    case 'read':
      return andThen(addRead(state, role, input.id), releaseReads);
    case 'persisted':
      return countOwnDisk(state, role, input);
    case 'applied':
      return recordApplied(state, input.index);
    default:
      return unreachable(input);
  }
}

/** Takes over after a won election: opens the term with a no-op. */
export function lead(state: RaftState): Step {
  const { self } = state.config;
  const { term } = state.hardState;
  const nothing = toLogIndex(0);
  const match = new Map(members(state.voters).map((voter) => [voter, nothing]));
  match.set(self, state.log.persisted);
  const first = nextIndex(state);
  const role: Leader = { kind: 'leader', first, match, uncommittedBytes: uncommitted(state), reads: [] };
  const leading: RaftState = { ...state, role, timers: NO_TIMERS };
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-leader', term, first } };
  const opened = appendEntries(leading, nextEntries(leading, [NO_OP]));
  return { state: opened.state, effects: [fact, ...opened.effects] };
}

/** Appends as many of the payloads as the bound on uncommitted bytes lets in, at least one when nothing waits. */
function propose(state: RaftState, role: Leader, payloads: readonly Uint8Array[]): Step {
  const { uncommittedBytesMax } = state.config;
  let bytes = role.uncommittedBytes;
  let accepted = 0;
  for (const payload of payloads) {
    assert(payload.length > 0, 'A proposal is not empty');
    if (bytes > 0 && bytes + payload.length > uncommittedBytesMax) break;
    bytes += payload.length;
    accepted += 1;
  }
  const full: Refusal = { kind: 'uncommitted-full', bytesMax: uncommittedBytesMax };
  const refused = accepted < payloads.length ? full : undefined;
  const { term } = state.hardState;
  const answer: Effect = { kind: 'proposed', term, first: nextIndex(state), accepted, refused };
  if (accepted === 0) return { state, effects: [answer] };
  const taken = accepted === payloads.length ? payloads : payloads.slice(0, accepted);
  const counted: RaftState = { ...state, role: { ...role, uncommittedBytes: bytes } };
  const appended = appendEntries(counted, nextEntries(counted, taken));
  return { state: appended.state, effects: [answer, ...appended.effects] };
}

function appendEntries(state: RaftState, entries: readonly Entry[]): Step {
  const appended: RaftState = { ...state, log: append(state.log, entries) };
  return { state: appended, effects: [persist(appended, entries, false)] };
}

function countOwnDisk(state: RaftState, role: Leader, completion: Completion): Step {
  if (!isCurrent(state, completion)) return ignoreCompletion(state, completion);
  const log = markPersisted(state.log, completion.index);
  const match = new Map(role.match).set(state.config.self, log.persisted);
  return andThen(advanceCommit({ ...state, log }, { ...role, match }), releaseReads);
}

/** Commits what a quorum holds, if its last entry is of this term (R4). */
function advanceCommit(state: RaftState, role: Leader): Step {
  const reached = quorumIndex(state.voters, (voter) => matchOf(role, voter));
  if (reached <= state.commit || termAt(state.log, reached) !== state.hardState.term) {
    return unchanged({ ...state, role });
  }
  const committedBytes = payloadBytes(slice(state.log, state.commit + 1, reached + 1));
  const uncommittedBytes = role.uncommittedBytes - committedBytes;
  const committed: RaftState = { ...state, commit: reached, role: { ...role, uncommittedBytes } };
  return { state: committed, effects: [{ kind: 'fact', fact: { kind: 'committed', index: reached } }] };
}

function matchOf(role: Leader, voter: ReplicaId): LogIndex {
  const match = role.match.get(voter);
  assert(match !== undefined, 'A leader tracks every voter', voter);
  return match;
}

function uncommitted(state: RaftState): number {
  return payloadBytes(slice(state.log, state.commit + 1, nextIndex(state)));
}

function payloadBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.payload.length;
  return bytes;
}
