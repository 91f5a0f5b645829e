// Goal: in a small scope nothing at all breaks an invariant of #raft or of the group. Method: the first states of the
// exhaustive search (npm run search goes on to the end), and cores that are broken on purpose, which it must find.

import { describe, expect, it } from 'vitest';
import { toLogIndex } from '#base';
import { ORIGIN, step, toReplicaId } from '#raft';
import { type Scope, search } from '../../support/raft/search.ts';
import type { Core } from '../../support/raft/world.ts';

const SCOPE: Scope = {
  voters: 3,
  learners: 0,
  terms: 2,
  proposals: 1,
  crashes: 1,
  doubles: 0,
  change: undefined,
  statesMax: 4000,
};

const CHANGE = { voters: [1, 2].map(toReplicaId), learners: [] };

/** Sends a vote while the disk still writes it. */
const votesEarly: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const asks = input.kind === 'receive' && input.message.kind === 'vote-request';
  if (!asks || sound.state.hardState.vote !== input.from) return sound;
  const { term } = sound.state.hardState;
  const message = { kind: 'vote-reply', term, isGranted: true, commit: ORIGIN } as const;
  return { state: sound.state, effects: [...sound.effects, { kind: 'send', to: input.from, message }] };
};

/** Forgets that it has voted when somebody else asks. */
const votesTwice: Core = (state, input, nowMs) => {
  const asks = input.kind === 'receive' && input.message.kind === 'vote-request';
  if (!asks || state.role.kind !== 'follower') return step(state, input, nowMs);
  const { hardState, durable } = state;
  const forgetful = { hardState: { ...hardState, vote: undefined }, durable: { ...durable, vote: undefined } };
  return step({ ...state, ...forgetful }, input, nowMs);
};

/** Acknowledges entries while the disk still writes them. */
const acknowledgesEarly: Core = (state, input, nowMs) => {
  const sound = step(state, input, nowMs);
  const persist = sound.effects.findLast((effect) => effect.kind === 'persist');
  if (persist === undefined || persist.entries.length === 0 || sound.state.role.kind !== 'follower') return sound;
  const { term, vote, index, logTerm } = persist;
  const done = step(sound.state, { kind: 'persisted', term, vote, index, logTerm }, nowMs);
  return { state: done.state, effects: [...sound.effects, ...done.effects] };
};

/** Begins a change although nothing is committed in its term. */
const changesEarly: Core = (state, input, nowMs) => {
  const { role } = state;
  if (input.kind !== 'change-membership' || role.kind !== 'leader') return step(state, input, nowMs);
  const changed = step({ ...state, role: { ...role, first: toLogIndex(0) } }, input, nowMs);
  return { ...changed, state: { ...changed.state, role: { ...role, ...changed.state.role, first: role.first } } };
};

const BROKEN: readonly (readonly [string, Core, string])[] = [
  ['sends a vote before it is on disk', votesEarly, 'R9'],
  ['votes for whoever asks', votesTwice, 'R7'],
  ['acknowledges entries before they are on disk', acknowledgesEarly, 'G'],
  ['changes members before it has committed in its term', changesEarly, 'R11'],
];

describe('search', () => {
  it('finds nothing broken among the first states of an election with a proposal and a crash', () => {
    const found = search(SCOPE);
    expect(found.broken).toBeUndefined();
    expect(found.states).toBe(SCOPE.statesMax);
  });

  it('sees all there is to see of one voter that crashes once', () => {
    const found = search({ ...SCOPE, voters: 1, terms: 3, proposals: 2, statesMax: 50_000 });
    expect(found.broken).toBeUndefined();
    expect(found.isComplete).toBe(true);
  });

  it.each(BROKEN)('finds the way to a core that %s', (_, core, invariant) => {
    const found = search({ ...SCOPE, change: CHANGE, statesMax: 100_000 }, core);
    expect(found.broken?.message).toContain(invariant);
    expect(found.broken?.path.length).toBeGreaterThan(0);
  });
});
