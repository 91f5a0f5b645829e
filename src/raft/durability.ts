/**
 * What every role does with the progress of its own disk and of its own state machine.
 */
import { assert, type LogIndex } from '#base';
import type { Input } from './input.ts';
import { markPersisted, releaseThrough, slice, termAt } from './log.ts';
import { type RaftState, type Step, unchanged } from './state.ts';

export type Completion = Extract<Input, { readonly kind: 'persisted' }>;

/**
 * Whether a completion still speaks of this log (R6). After a change of term its entries may have been overwritten by
 * others with the same index, so only the term it was issued in may believe it; a later `persist` covers the rest.
 */
export function isCurrent(state: RaftState, completion: Completion): boolean {
  if (completion.term !== state.hardState.term) return false;
  if (completion.index <= state.log.persisted) return true;
  return termAt(state.log, completion.index) === completion.logTerm;
}

export function ignoreCompletion(state: RaftState, completion: Completion): Step {
  const { term, index } = completion;
  return { state, effects: [{ kind: 'fact', fact: { kind: 'completion-ignored', term, index } }] };
}

/** Takes the completion into the log, or ignores it when it is of an earlier term (R6). */
export function acknowledge(state: RaftState, completion: Completion): Step {
  if (!isCurrent(state, completion)) return ignoreCompletion(state, completion);
  return unchanged({ ...state, log: markPersisted(state.log, completion.index) });
}

/** Moves the applied index and forgets the entries that nobody will ask for again. */
export function recordApplied(state: RaftState, index: LogIndex): Step {
  assert(index <= state.applying, 'Only what was handed out is applied', index);
  if (index <= state.applied) return unchanged(state);
  const applied: RaftState = { ...state, applied: index };
  return unchanged({ ...applied, log: releaseThrough(applied.log, releasable(applied)) });
}

/** Hands out what has become committed and durable here, once and in order (R1). */
export function handOut(state: RaftState): Step {
  const to = Math.min(state.commit, state.log.persisted);
  if (to <= state.applying) return unchanged(state);
  const entries = slice(state.log, state.applying + 1, to + 1);
  const last = entries.at(-1);
  assert(last !== undefined, 'What is handed out is not empty');
  return { state: { ...state, applying: last.index }, effects: [{ kind: 'apply', entries }] };
}

/** A leader keeps what some voter may still need from it. */
function releasable(state: RaftState): LogIndex {
  const { role } = state;
  if (role.kind !== 'leader') return state.applied;
  let lowest = state.applied;
  for (const match of role.match.values()) if (match < lowest) lowest = match;
  return lowest;
}
