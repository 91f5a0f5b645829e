/**
 * How a replica says no: always with the reason, never by silence.
 */
import type { Refusal } from './effect.ts';
import { nextIndex, type RaftState, type Step } from './state.ts';

export function refuseProposals(state: RaftState, refused: Refusal): Step {
  const { term } = state.hardState;
  return { state, effects: [{ kind: 'proposed', term, first: nextIndex(state), accepted: 0, refused }] };
}

export function refuseRead(state: RaftState, id: number, refusal: Refusal): Step {
  return { state, effects: [{ kind: 'read-refused', id, refusal }] };
}

export function ignoreCampaign(state: RaftState, reason: 'not-a-voter' | 'campaigning' | 'leading'): Step {
  return { state, effects: [{ kind: 'fact', fact: { kind: 'campaign-ignored', reason } }] };
}
