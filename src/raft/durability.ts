/**
 * What every role does with the progress of its own disk and of its own state machine.
 */
import { assert, type LogIndex } from '#base';
import type { Effect } from './effect.ts';
import type { Input, Persisted } from './input.ts';
import { markPersisted, releaseFor, releaseThrough, slice, termAt } from './log.ts';
import { commitId, type RaftState, type Step, send, unchanged } from './state.ts';

type Applied = Extract<Input, { readonly kind: 'applied' }>;

/**
 * What the state is once the disk holds what the completion says; undefined when it was issued in another term (R6).
 * After a change of term its entries may have been overwritten by others with the same index, so only the term it was
 * issued in may believe it; a later `persist` covers the rest. Of a log that has given way since, to another leader's
 * entries or to a snapshot, it says nothing any more; the term and the vote are on disk all the same.
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

/** Takes the completion in, and sends the vote that has just become durable, if one has (R9). */
export function acknowledge(state: RaftState, completion: Persisted): Step {
  const believed = believe(state, completion);
  if (believed === undefined) return ignoreCompletion(state, completion);
  return { state: believed, effects: promisedVote(state, believed) };
}

/**
 * Moves the applied index and forgets the entries that nobody will ask for again, or that there is no room for. Said of
 * the same index again, it forgets what members have got since.
 */
export function recordApplied(state: RaftState, { index, retainedBytesMax }: Applied): Step {
  assert(index <= state.applying, 'R1: only what was handed out is applied', index);
  if (index < state.applied) return unchanged(state);
  const applied: RaftState = { ...state, applied: index };
  return unchanged({ ...applied, log: releaseThrough(applied.log, releasable(applied, retainedBytesMax)) });
}

/** Hands out what has become committed and durable here, once and in order (R1). */
export function handOut(state: RaftState): Step {
  const to = Math.min(state.commit, state.log.persisted);
  if (to <= state.applying || state.installing !== undefined) return unchanged(state);
  const entries = slice(state.log, state.applying + 1, to + 1);
  const last = entries.at(-1);
  assert(last !== undefined, 'What is handed out is not empty');
  return { state: { ...state, applying: last.index }, effects: [{ kind: 'apply', entries }] };
}

/** A leader keeps what members that are behind will ask for, within a bound; what it has released it can load. */
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
