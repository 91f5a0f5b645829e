// Goal: the checkers of R1 to R12 find violations of their invariants. Method: a valid state or step, altered at one
// point at a time.
import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import {
  type Effect,
  type Entry,
  type Follower,
  type HardState,
  type Input,
  type Leader,
  type Message,
  membershipOf,
  ORIGIN,
  openReplica,
  type Peer,
  type Progress,
  type RaftState,
  REPLICATION,
  type Step,
  step,
  toReplicaId,
} from '#raft';
import { checkState } from '../../support/raft/state-invariants.ts';
import { checkStep } from '../../support/raft/step-invariants.ts';

const SELF = toReplicaId(1);
const OTHER = toReplicaId(2);
const CONFIG = {
  self: SELF,
  electionWindowMs: 100,
  electionJitterMs: 0,
  uncommittedBytesMax: 99,
  pendingReadsMax: 9,
  replication: { ...REPLICATION, inFlightMessagesMax: 1 },
};
const index = toLogIndex;
const term = toTerm;
const entry = (at: number, of: number): Entry => ({ index: index(at), term: term(of), payload: new Uint8Array(of) });
const noOp = (at: number, of: number): Entry => ({ ...entry(at, of), payload: new Uint8Array(0) });
const hardState = (of: number, vote: typeof SELF | undefined): HardState => ({ term: term(of), vote });

const FOLLOWER: Follower = {
  kind: 'follower',
  leader: OTHER,
  heardMs: 0,
  verified: index(2),
  owesAck: false,
  reads: [],
};
const LEADER: Leader = {
  kind: 'leader',
  first: index(2),
  peers: new Map(),
  uncommittedBytes: 2,
  reads: [],
  round: 4,
  transfer: undefined,
};

/** A leader of term 2 with entries 1@1, 2@2 (its no-op) and 3@2; the first two are committed and applied. */
function leader(): RaftState {
  const recovered = { hardState: hardState(2, SELF), base: ORIGIN, entries: [] };
  return {
    ...openReplica(CONFIG, membershipOf([SELF]), recovered, { nowMs: 0, seed: 1 }),
    log: { base: ORIGIN, runs: [[entry(1, 1)], [noOp(2, 2), entry(3, 2)]], persisted: index(2), bytes: 0 },
    commit: index(2),
    applying: index(2),
    applied: index(2),
    timers: {},
    role: LEADER,
  };
}

/** The same state as a follower that has voted for replica 2. */
function follower(bend: Partial<RaftState> = {}): RaftState {
  const voted = hardState(2, OTHER);
  return { ...leader(), hardState: voted, durable: voted, timers: { election: 9 }, role: FOLLOWER, ...bend };
}

/** The same leader with replica 2 as a learner. */
function leaderOf(progress: Partial<Progress>, peer: Partial<Peer> = {}): Partial<RaftState> {
  const stream: Progress = {
    kind: 'replicate',
    match: index(1),
    next: index(4),
    inFlight: [{ last: index(3), bytes: 2 }],
    inFlightBytes: 2,
    waitsFor: 'nothing',
  };
  const known = {
    progress: { ...stream, ...progress } as Progress,
    heardMs: 0,
    hasAnswered: true,
    round: 4,
    sentCommit: index(0),
  };
  const peers = new Map([[OTHER, { ...known, matchAtBeat: index(0), ...peer }]]);
  return { membership: membershipOf([SELF], [OTHER]), role: { ...LEADER, peers } };
}

const { log } = leader();
const CHANGE = { ...noOp(3, 2), membership: membershipOf([SELF], [OTHER]) };
type Ids = RaftState['membership']['learners'];
const members = (incoming: Ids, outgoing: Ids, learners: Ids = [], learnersNext: Ids = []) => ({
  membership: { voters: { incoming, outgoing }, learners, learnersNext },
});
/** A candidate of term 2 with this vote, and an older vote on disk. */
const candidate = (voter: typeof SELF): Partial<RaftState> => ({
  role: { kind: 'candidate', votes: new Map([[voter, true]]), isTransfer: false },
  durable: hardState(1, SELF),
  timers: { election: 1 },
});
const flight = (...lasts: number[]) => lasts.map((last) => ({ last: index(last), bytes: 1 }));

const bentStates: readonly (readonly [string, Partial<RaftState>])[] = [
  ['R1', { applied: index(3) }],
  ['R1', { applying: index(3) }],
  ['R1', { commit: index(3), applying: index(3) }],
  ['R1', { applied: index(0), log: { ...log, base: { index: index(1), term: term(1) } } }],
  ['R2', { log: { ...log, persisted: index(4) } }],
  ['R2', { commit: index(4) }],
  ['R3', { log: { ...log, runs: [[entry(1, 1), entry(3, 2)]] } }],
  ['R3', { log: { ...log, runs: [[entry(1, 2), entry(2, 1)]] } }],
  ['R3', { log: { ...log, runs: [[entry(1, 3), entry(2, 3)]] } }],
  ['R4', { log: { ...log, runs: [[entry(1, 1), entry(2, 1), entry(3, 2)]] } }],
  ['R4', { log: { ...log, runs: [[entry(1, 1), entry(2, 2)]] } }],
  ['R5', { role: { ...LEADER, reads: [{ id: 1, from: undefined, round: 6 }] } }],
  ['R5', leaderOf({}, { round: 5 })],
  ['R7', { hardState: hardState(2, OTHER), durable: hardState(2, OTHER) }],
  ['R7', { durable: hardState(2, undefined) }],
  ['R7', candidate(SELF)],
  ['R9', candidate(OTHER)],
  ['R9', { durable: hardState(3, SELF) }],
  ['R9', { durable: hardState(2, OTHER) }],
  ['R10', follower({ role: { ...FOLLOWER, verified: index(4) } })],
  ['R10', { installing: { last: entry(9, 2), membership: membershipOf([SELF]) } }],
  ['R11', { changes: [{ index: index(3), membership: membershipOf([SELF]) }] }],
  ['R11', { log: { ...log, runs: [[entry(1, 1), noOp(2, 2), CHANGE]] }, role: { ...LEADER, uncommittedBytes: 0 } }],
  ['R11', members([SELF], [], [SELF])],
  ['R11: a membership is well-formed', members([SELF], [], [OTHER, OTHER])],
  ['R11: a membership is well-formed', members([SELF], [], [], [OTHER])],
  ['R11: a membership is well-formed', members([SELF, SELF], [])],
  ['R11: a membership is well-formed', members([SELF], [OTHER], [OTHER])],
  ['R11: a membership is well-formed', members([SELF], [SELF], [], [SELF])],
  ['R11: a group has a voter', members([], [SELF])],
  ['R11', { membership: membershipOf([SELF, OTHER]) }],
  ['R11', { timers: { election: 1 } }],
  ['R11', follower({ timers: {} })],
  ['R12', leaderOf({ next: index(1) })],
  ['R12', leaderOf({ match: index(4), next: index(5) })],
  ['R12', leaderOf({ inFlight: flight(1), inFlightBytes: 1 })],
  ['R12', leaderOf({ inFlight: flight(4), inFlightBytes: 1 })],
  ['R12', leaderOf({ inFlight: flight(2, 3), inFlightBytes: 2 })],
  ['R12', leaderOf({ inFlightBytes: 1 })],
];

const ACK: Message = { kind: 'append-ack', term: term(2), match: index(2) };
const sent = (message: Message): Effect => ({ kind: 'send', to: OTHER, message });

const bentSteps: readonly (readonly [string, (sound: Step) => Step])[] = [
  ['R1', (sound) => withEffect(sound, { kind: 'apply', entries: [entry(2, 2)] })],
  ['R4', (sound) => withState(sound, { role: { kind: 'pre-candidate', votes: new Map() }, timers: { election: 1 } })],
  ['R5', (sound) => withEffect(sound, { kind: 'read-ready', id: 1, index: index(1), term: term(2) })],
  ['R5', (sound) => withEffect(sound, { kind: 'read-ready', id: 1, index: index(2), term: term(1) })],
  ['R5', (sound) => withState(sound, { role: { ...LEADER, uncommittedBytes: 3, round: 3 } })],
  ['R6', (sound) => ({ ...sound, effects: sound.effects.map((each) => ({ ...each, term: term(1) })) })],
  ['R7', (sound) => withState(sound, { hardState: hardState(2, OTHER), durable: hardState(2, OTHER) })],
  ['R8', (sound) => ({ ...sound, effects: [] })],
  ['R8', (sound) => ({ ...sound, effects: sound.effects.map((each) => ({ ...each, truncateFrom: index(2) })) })],
  ['R9', (sound) => withEffect(sound, sent({ kind: 'vote-reply', term: term(2), isGranted: true, commit: ORIGIN }))],
  ['R9', (sound) => withEffect(sound, sent({ kind: 'append-ack', term: term(2), match: index(3) }))],
  ['R10', (sound) => withEffect(sound, sent(ACK))],
  ['R12', (sound) => withEffect(sound, { kind: 'send-snapshot', to: OTHER, least: index(3), term: term(2) })],
];

function withEffect(sound: Step, effect: Step['effects'][number]): Step {
  return { ...sound, effects: [...sound.effects, effect] };
}

function withState(sound: Step, bend: Partial<RaftState>): Step {
  return { ...sound, state: { ...sound.state, ...bend } };
}

it('checkState accepts a valid state', () => {
  expect(() => checkState(leader())).not.toThrow();
});

it.each(bentStates)('checkState names %s for a state altered by %o', (name, bend) => {
  expect(() => checkState({ ...leader(), ...bend })).toThrow(name);
});

describe('checkStep', () => {
  const before = leader();
  const input: Input = { kind: 'propose', payloads: [new Uint8Array(1)] };

  it('accepts a valid step', () => {
    expect(() => checkStep(before, input, step(before, input, 0))).not.toThrow();
  });

  it.each(bentSteps)('names %s for an altered step', (name, bend) => {
    const sound = step(before, input, 0);
    expect(() => checkStep(before, input, bend(sound))).toThrow(name);
  });

  it('names R8 when a new term is not persisted, and R9 when a candidate requests votes before its own is on disk', () => {
    const campaign: Input = { kind: 'campaign' };
    const waiting = follower();
    const sound = step(waiting, campaign, 0);
    expect(() => checkStep(waiting, campaign, sound)).not.toThrow();
    expect(() => checkStep(waiting, campaign, { ...sound, effects: [] })).toThrow('R8');
    const last = entry(3, 2);
    const early = sent({ kind: 'vote-request', term: term(3), last, commit: ORIGIN, isTransfer: false });
    expect(() => checkStep(waiting, campaign, withEffect(sound, early))).toThrow('R9');
  });

  it.each<readonly [string, Effect[]]>([
    ['R5: a read waits for a round that begins after it came', []],
    ['R5: a quorum has confirmed the round', [{ kind: 'read-ready', id: 1, index: index(2), term: term(2) }]],
  ])('names %s', (name, more) => {
    const asked: Input = { kind: 'read', id: 1 };
    const leading: RaftState = { ...leader(), ...leaderOf({}), membership: membershipOf([SELF, OTHER]) };
    const { state, effects } = step(leading, asked, 0);
    expect(() => checkStep(leading, asked, { state, effects })).not.toThrow();
    const reads = more.length > 0 ? [] : [{ id: 1, from: undefined, round: 4 }];
    const bent = { ...state, role: { ...(state.role as Leader), reads } };
    expect(() => checkStep(leading, asked, { state: bent, effects: [...effects, ...more] })).toThrow(name);
  });

  it('names R10 when a committed entry changes', () => {
    const message: Message = { kind: 'beat', term: term(2), commit: index(0), round: 0 };
    const beat: Input = { kind: 'receive', from: OTHER, message };
    const waiting = follower();
    const sound = step(waiting, beat, 0);
    expect(() => checkStep(waiting, beat, sound)).not.toThrow();
    const other = { ...log, runs: [[noOp(1, 2)], ...log.runs.slice(1)] };
    expect(() => checkStep(waiting, beat, withState(sound, { log: other }))).toThrow('R10');
  });

  it('names R11 when a change is not adjacent to the present membership', () => {
    const change: Input = { kind: 'change-membership', target: { voters: [SELF], learners: [OTHER] } };
    const sound = step(before, change, 0);
    expect(() => checkStep(before, change, sound)).not.toThrow();
    const jumped: RaftState = { ...before, membership: membershipOf([OTHER]) };
    const role: Leader = { ...LEADER, peers: (sound.state.role as Leader).peers };
    expect(() => checkStep(jumped, change, withState(sound, { membership: jumped.membership, role }))).toThrow('R11');
  });

  it('names R12 when the progress of a member decreases', () => {
    const held: RaftState = { ...before, ...leaderOf({ match: index(2) }) };
    const tick: Input = { kind: 'tick' };
    const bent: RaftState = { ...before, ...leaderOf({}) };
    expect(() => checkStep(held, tick, { state: bent, effects: [] })).toThrow('R12');
  });

  it.each([
    ['R1', { applying: index(3) }],
    ['R1', { applied: index(3) }],
    ['R4', { commit: index(3) }],
    ['R7', { hardState: hardState(9, SELF) }],
  ] as const)('names %s when the previous state was ahead', (name, further) => {
    const sound = step(before, input, 0);
    expect(() => checkStep({ ...before, ...further }, input, sound)).toThrow(name);
  });
});
