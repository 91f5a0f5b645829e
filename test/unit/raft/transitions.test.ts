// Goal: every role answers every input, and the answer is decided here. Method: a total table; a new role or input does
// not compile until all its cells are filled.

import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import {
  checkStep,
  type Effect,
  type Input,
  type InputKind,
  ORIGIN,
  openReplica,
  type RaftState,
  type Role,
  step,
  toReplicaId,
  voterSet,
} from '#raft';

type RoleKind = Role['kind'];
interface Answer {
  readonly role: RoleKind;
  readonly effects: readonly Effect['kind'][];
}

const SELF = toReplicaId(1);
const LATE_MS = 1_000_000;
const CONFIG = {
  self: SELF,
  electionWindowMs: 100,
  electionJitterMs: 10,
  uncommittedBytesMax: 100,
  pendingReadsMax: 10,
};

const TABLE: Readonly<Record<RoleKind, Readonly<Record<InputKind, Answer>>>> = {
  follower: {
    tick: { role: 'candidate', effects: ['fact', 'persist'] },
    campaign: { role: 'candidate', effects: ['fact', 'persist'] },
    propose: { role: 'follower', effects: ['proposed'] },
    persisted: { role: 'follower', effects: [] },
    applied: { role: 'follower', effects: [] },
    read: { role: 'follower', effects: ['read-refused'] },
  },
  candidate: {
    tick: { role: 'candidate', effects: [] },
    campaign: { role: 'candidate', effects: ['fact'] },
    propose: { role: 'candidate', effects: ['proposed'] },
    persisted: { role: 'leader', effects: ['fact', 'persist'] },
    applied: { role: 'candidate', effects: [] },
    read: { role: 'candidate', effects: ['read-refused'] },
  },
  leader: {
    tick: { role: 'leader', effects: [] },
    campaign: { role: 'leader', effects: ['fact'] },
    propose: { role: 'leader', effects: ['proposed', 'persist'] },
    persisted: { role: 'leader', effects: ['fact', 'apply'] },
    applied: { role: 'leader', effects: [] },
    read: { role: 'leader', effects: [] },
  },
};

/** A replica of a group of one voter, as it is just after it took the role: its last write is not on disk yet. */
function replicaAs(role: RoleKind): RaftState {
  const recovered = { hardState: { term: toTerm(0), vote: undefined }, base: ORIGIN, entries: [] };
  const follower = openReplica(CONFIG, voterSet([SELF]), recovered, { nowMs: 0, seed: 1 });
  if (role === 'follower') return follower;
  const candidate = step(follower, { kind: 'campaign' }, 0).state;
  if (role === 'candidate') return candidate;
  return step(candidate, completion(candidate), 0).state;
}

function inputs(state: RaftState): Readonly<Record<InputKind, Input>> {
  return {
    tick: { kind: 'tick' },
    campaign: { kind: 'campaign' },
    propose: { kind: 'propose', payloads: [new Uint8Array(1)] },
    persisted: completion(state),
    applied: { kind: 'applied', index: toLogIndex(0) },
    read: { kind: 'read', id: 1 },
  };
}

function completion(state: RaftState): Input {
  const last = state.log.runs.at(-1)?.at(-1) ?? state.log.base;
  return { kind: 'persisted', term: state.hardState.term, index: last.index, logTerm: last.term };
}

const CELLS = Object.entries(TABLE).flatMap(([role, answers]) =>
  Object.entries(answers).map(([input, answer]) => [role as RoleKind, input as InputKind, answer] as const),
);

describe('transition table', () => {
  it.each(CELLS)('a %s answers %s', (role, kind, answer) => {
    const state = replicaAs(role);
    const input = inputs(state)[kind];
    const result = step(state, input, LATE_MS);
    checkStep(state, input, result);
    expect(result.state.role.kind).toBe(answer.role);
    expect(result.effects.map((effect) => effect.kind)).toEqual(answer.effects);
  });
});
