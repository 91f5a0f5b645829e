/**
 * Progress of the replica's disk and state machine, in every role.
 */
import { assert, type LogIndex } from '#base';
import type { Effect } from './effect.ts';
import type { Input, Persisted } from './input.ts';
import { markPersisted, releaseFor, releaseThrough, slice, termAt } from './log.ts';
import { commitId, type RaftState, type Step, send, unchanged } from './state.ts';

type Applied = Extract<Input, { readonly kind: 'applied' }>;

/**
 * The state after the disk holds the entries of the completion; undefined when it was issued in another term (R6).
 * After a change of term its entries may have been overwritten at the same index, so it counts only in the term of its
 * write; a later `persist` covers the rest. A completion from before a truncation or a snapshot says nothing about the
 * log; its term and vote are durable all the same.
 */
export function believe(state: RaftState, completion: Persisted): RaftState | undefined {
  if (completion.term !== state.hardState.term) return undefined;
  const { index, logTerm, term, vote } = completion;
  const isHeld = index <= state.log.persisted || termAt(state.log, index) === logTerm;
  const log = isHeld ? markPersisted(state.log, index) : state.log;
  if (state.durable.term === term && (state.durable.vote === vote || vote === undefined)) return { ...state, log };
  return { ...state, log, durable: vote === state.hardState.vote ? state.hardState : { term, vote } };
}

export function ignoreCompletion(state: RaftState, { term, index }: Persisted): Step {
  return { state, effects: [{ kind: 'fact', fact: { kind: 'completion-ignored', term, index } }] };
}

/** Handles the completion, and sends the vote that became durable by it, if any (R9). */
export function acknowledge(state: RaftState, completion: Persisted): Step {
  const believed = believe(state, completion);
  if (believed === undefined) return ignoreCompletion(state, completion);
  return { state: believed, effects: promisedVote(state, believed) };
}

/**
 * Advances the applied index and releases entries that no member needs, or that exceed the limit. The same index again
 * releases entries that members have acknowledged since.
 */
export function recordApplied(state: RaftState, { index, retainedBytesMax }: Applied): Step {
  assert(index <= state.applying, 'R1: only what was handed out is applied', index);
  if (index < state.applied) return unchanged(state);
  const applied: RaftState = { ...state, applied: index };
  return unchanged({ ...applied, log: releaseThrough(applied.log, releasable(applied, retainedBytesMax)) });
}

/** Emits the committed and durable entries, each once and in order (R1). */
export function handOut(state: RaftState): Step {
  const to = Math.min(state.commit, state.log.persisted);
  if (to <= state.applying || state.installing !== undefined) return unchanged(state);
  const entries = slice(state.log, state.applying + 1, to + 1);
  const last = entries.at(-1);
  assert(last !== undefined, 'What is handed out is not empty');
  return { state: { ...state, applying: last.index }, effects: [{ kind: 'apply', entries }] };
}

/** Highest index to release: a leader keeps entries for lagging members within a limit, and loads released ones. */
function releasable(state: RaftState, room: number = Number.POSITIVE_INFINITY): LogIndex {
  const { role, log, applied, config } = state;
  if (role.kind !== 'leader' || role.peers.size === 0) return applied;
  let wanted = applied;
  for (const { progress } of role.peers.values()) {
    if (progress.kind !== 'snapshot' && progress.match < wanted) wanted = progress.match;
  }
  const bytesMax = Math.min(room, config.replication.retainedBytesMax);
  if (wanted === applied || log.bytes <= bytesMax) return wanted;
  const bounded = releaseFor(log, bytesMax, applied);
  return bounded > wanted ? bounded : wanted;
}

function promisedVote(before: RaftState, after: RaftState): readonly Effect[] {
  const { term, vote } = after.durable;
  const isNew = before.durable.term !== term || before.durable.vote !== vote;
  if (!isNew || after.isDiverged || vote === undefined || vote === after.config.self || term !== after.hardState.term)
    return [];
  return [send(vote, { kind: 'vote-reply', term, isGranted: true, commit: commitId(after) })];
}
