// Goal: the checkers of R1 to R8 notice what they are for. Method: a sound step, bent in one place at a time.

import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import {
  checkState,
  checkStep,
  type Input,
  ORIGIN,
  openReplica,
  type RaftState,
  type Step,
  step,
  toReplicaId,
  voterSet,
} from '#raft';

const SELF = toReplicaId(1);
const OTHER = toReplicaId(2);
const CONFIG = { self: SELF, electionWindowMs: 100, electionJitterMs: 0, uncommittedBytesMax: 99, pendingReadsMax: 9 };
const index = toLogIndex;
const term = toTerm;
const entry = (at: number, of: number) => ({ index: index(at), term: term(of), payload: new Uint8Array(of) });

/** A leader of term 2 with entries 1@1, 2@2 (its no-op) and 3@2; the first two are committed and applied. */
function leader(): RaftState {
  const log = { base: ORIGIN, runs: [[entry(1, 1)], [{ ...entry(2, 2), payload: new Uint8Array(0) }, entry(3, 2)]] };
  const recovered = { hardState: { term: term(2), vote: SELF }, base: ORIGIN, entries: [] };
  return {
    ...openReplica(CONFIG, voterSet([SELF]), recovered, { nowMs: 0, seed: 1 }),
    log: { ...log, persisted: index(2) },
    commit: index(2),
    applying: index(2),
    applied: index(2),
    role: { kind: 'leader', first: index(2), match: new Map([[SELF, index(2)]]), uncommittedBytes: 2, reads: [] },
  };
}

const bentStates: readonly (readonly [string, Partial<RaftState>])[] = [
  ['R1', { applied: index(3) }],
  ['R1', { applying: index(3) }],
  ['R1', { commit: index(3), applying: index(3) }],
  ['R1', { applied: index(0), log: { ...leader().log, base: { index: index(1), term: term(1) } } }],
  ['R2', { log: { ...leader().log, persisted: index(4) } }],
  ['R2', { commit: index(4) }],
  ['R3', { log: { ...leader().log, runs: [[entry(1, 1), entry(3, 2)]] } }],
  ['R3', { log: { ...leader().log, runs: [[entry(1, 2), entry(2, 1)]] } }],
  ['R3', { log: { ...leader().log, runs: [[entry(1, 3), entry(2, 3)]] } }],
  ['R4', { log: { ...leader().log, runs: [[entry(1, 1), entry(2, 1), entry(3, 2)]] } }],
  ['R4', { log: { ...leader().log, persisted: index(3) } }],
  ['R4', { log: { ...leader().log, runs: [[entry(1, 1), entry(2, 2)]] } }],
  ['R7', { hardState: { term: term(2), vote: OTHER } }],
];

const bentSteps: readonly (readonly [string, (sound: Step) => Step])[] = [
  ['R1', (sound) => ({ ...sound, effects: [...sound.effects, { kind: 'apply', entries: [entry(2, 2)] }] })],
  ['R4', (sound) => ({ ...sound, state: { ...sound.state, role: { kind: 'follower', leader: undefined } } })],
  ['R5', (sound) => withEffect(sound, { kind: 'read-ready', id: 1, index: index(1), term: term(2) })],
  ['R5', (sound) => withEffect(sound, { kind: 'read-ready', id: 1, index: index(2), term: term(1) })],
  ['R6', (sound) => ({ ...sound, effects: sound.effects.map((each) => ({ ...each, term: term(1) })) })],
  ['R7', (sound) => ({ ...sound, state: { ...sound.state, hardState: { term: term(2), vote: OTHER } } })],
  ['R8', (sound) => ({ ...sound, effects: [] })],
];

function withEffect(sound: Step, effect: Step['effects'][number]): Step {
  return { ...sound, effects: [...sound.effects, effect] };
}

describe('checkState', () => {
  it('passes a sound state', () => {
    expect(() => checkState(leader())).not.toThrow();
  });

  it.each(bentStates)('names %s for a state bent by %o', (name, bend) => {
    expect(() => checkState({ ...leader(), ...bend })).toThrow(name);
  });
});

describe('checkStep', () => {
  const before = leader();
  const input: Input = { kind: 'propose', payloads: [new Uint8Array(1)] };

  it('passes a sound step', () => {
    expect(() => checkStep(before, input, step(before, input, 0))).not.toThrow();
  });

  it.each(bentSteps)('names %s for a bent step', (name, bend) => {
    const sound = step(before, input, 0);
    expect(() => checkStep(before, input, bend(sound))).toThrow(name);
  });

  it('names R8 when a new term is not persisted', () => {
    const campaign: Input = { kind: 'campaign' };
    const follower: RaftState = { ...before, role: { kind: 'follower', leader: undefined } };
    const sound = step(follower, campaign, 0);
    expect(() => checkStep(follower, campaign, sound)).not.toThrow();
    expect(() => checkStep(follower, campaign, { ...sound, effects: [] })).toThrow('R8');
  });

  it.each([
    ['R1', { applying: index(3) }],
    ['R1', { applied: index(3) }],
    ['R4', { commit: index(3) }],
    ['R7', { hardState: { term: term(9), vote: SELF } }],
  ] as const)('names %s when the state before was already further', (name, further) => {
    const sound = step(before, input, 0);
    expect(() => checkStep({ ...before, ...further }, input, sound)).toThrow(name);
  });
});
