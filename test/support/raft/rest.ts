/**
 * Checks R14: for a replica at rest, #raft predicts the result of a step without running it, and the prediction must
 * equal the result of the step.
 */
import { isDeepStrictEqual } from 'node:util';
import { assert } from '#base';
import {
  type AnswersHeard,
  answerTo,
  type Effect,
  hearsEverybody,
  type Input,
  leadsAtRest,
  nextDeadline,
  type RaftState,
  repeatsAnswer,
  repeatsBeat,
  type Step,
  withAnswersHeard,
  withBeatsHeard,
} from '#raft';

const NOBODY: AnswersHeard = new Map();

export function checkRest(before: RaftState, input: Input, after: Step, nowMs: number): void {
  const foreseen = foresee(before, input, nowMs);
  assert(
    foreseen === undefined || isDeepStrictEqual(foreseen, after),
    'R14: a replica at rest does what is said of it without a step',
    [before, input, after, foreseen],
  );
}

/** Undefined when the input does more than record a heartbeat or reply. */
function foresee(state: RaftState, input: Input, nowMs: number): Step | undefined {
  if (input.kind === 'tick') return foreseeBeat(state, nowMs);
  if (input.kind !== 'receive') return undefined;
  const { from, message } = input;
  if (message.kind === 'beat' && repeatsBeat(state, from, message)) {
    const effects: readonly Effect[] = [{ kind: 'send', to: from, message: answerTo(state, message.round) }];
    return { state: withBeatsHeard(state, { count: 1, lastMs: nowMs }), effects };
  }
  if (!leadsAtRest(state) || !repeatsAnswer(state, from, message)) return undefined;
  return { state: withAnswersHeard(state, new Map([[from, nowMs]]), undefined), effects: [] };
}

function foreseeBeat(state: RaftState, nowMs: number): Step | undefined {
  const { role, hardState, commit, timers } = state;
  if (role.kind !== 'leader' || !leadsAtRest(state) || !hearsEverybody(state, NOBODY, nowMs)) return undefined;
  if ((nextDeadline(timers) ?? Number.POSITIVE_INFINITY) > nowMs) return { state, effects: [] };
  const message = { kind: 'beat', term: hardState.term, commit, round: role.round } as const;
  const effects = Array.from(role.peers.keys(), (to): Effect => ({ kind: 'send', to, message }));
  return { state: withAnswersHeard(state, NOBODY, nowMs), effects };
}
