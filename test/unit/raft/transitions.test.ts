// Goal: every role answers every input and every message, and the answer is decided here. Method: total tables; a new
// role, input or message does not compile until all its cells are filled. The progress of a member has such a table
// too.

import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import {
  checkStep,
  type Effect,
  type Input,
  type InputKind,
  type Message,
  membershipOf,
  ORIGIN,
  openReplica,
  type Progress,
  type RaftState,
  REPLICATION,
  type Role,
  type Step,
  step,
  toReplicaId,
} from '#raft';
import { type ProgressEvent, transition } from '../../../src/raft/progress.ts';

type RoleKind = Role['kind'];
interface Taken {
  readonly role: RoleKind;
  readonly effects: readonly Effect['kind'][];
}
/** Or the invariant that says that this cannot happen. */
type Answer = Taken | string;

const SELF = toReplicaId(1);
const OTHER = toReplicaId(2);
const LATE_MS = 1_000_000;
const NOTHING = toLogIndex(0);
const CONFIG = {
  self: SELF,
  electionWindowMs: 100,
  electionJitterMs: 10,
  uncommittedBytesMax: 100,
  pendingReadsMax: 10,
  replication: REPLICATION,
};

type InputTable = Readonly<Record<RoleKind, Readonly<Record<Exclude<InputKind, 'receive'>, Answer>>>>;

/** One voter of three, long after every deadline. */
const INPUTS: InputTable = {
  follower: {
    tick: { role: 'pre-candidate', effects: ['fact', 'send', 'send'] },
    campaign: { role: 'pre-candidate', effects: ['fact', 'send', 'send'] },
    'forget-leader': { role: 'follower', effects: [] },
    propose: { role: 'follower', effects: ['proposed'] },
    persisted: { role: 'follower', effects: [] },
    applied: { role: 'follower', effects: [] },
    'snapshot-installed': { role: 'follower', effects: [] },
    read: { role: 'follower', effects: ['read-refused'] },
    'change-membership': { role: 'follower', effects: ['membership-refused'] },
    'transfer-leadership': { role: 'follower', effects: ['fact'] },
    'entries-loaded': { role: 'follower', effects: [] },
    'snapshot-sent': { role: 'follower', effects: [] },
    unreachable: { role: 'follower', effects: [] },
    diverge: { role: 'follower', effects: ['fact'] },
    owe: { role: 'follower', effects: [] },
  },
  'pre-candidate': {
    tick: { role: 'pre-candidate', effects: ['fact', 'send', 'send'] },
    campaign: { role: 'pre-candidate', effects: ['send', 'send'] },
    'forget-leader': { role: 'pre-candidate', effects: [] },
    propose: { role: 'pre-candidate', effects: ['proposed'] },
    persisted: { role: 'pre-candidate', effects: [] },
    applied: { role: 'pre-candidate', effects: [] },
    'snapshot-installed': 'R10',
    read: { role: 'pre-candidate', effects: ['read-refused'] },
    'change-membership': { role: 'pre-candidate', effects: ['membership-refused'] },
    'transfer-leadership': { role: 'pre-candidate', effects: ['fact'] },
    'entries-loaded': { role: 'pre-candidate', effects: [] },
    'snapshot-sent': { role: 'pre-candidate', effects: [] },
    unreachable: { role: 'pre-candidate', effects: [] },
    diverge: { role: 'follower', effects: ['fact'] },
    owe: { role: 'follower', effects: ['fact'] },
  },
  candidate: {
    tick: { role: 'candidate', effects: [] },
    campaign: { role: 'candidate', effects: ['fact'] },
    'forget-leader': { role: 'candidate', effects: [] },
    propose: { role: 'candidate', effects: ['proposed'] },
    persisted: { role: 'candidate', effects: ['send', 'send'] },
    applied: { role: 'candidate', effects: [] },
    'snapshot-installed': 'R10',
    read: { role: 'candidate', effects: ['read-refused'] },
    'change-membership': { role: 'candidate', effects: ['membership-refused'] },
    'transfer-leadership': { role: 'candidate', effects: ['fact'] },
    'entries-loaded': { role: 'candidate', effects: [] },
    'snapshot-sent': { role: 'candidate', effects: [] },
    unreachable: { role: 'candidate', effects: [] },
    diverge: { role: 'follower', effects: ['fact'] },
    owe: { role: 'follower', effects: ['fact'] },
  },
  leader: {
    // Nobody has answered for a window: it gives way.
    tick: { role: 'follower', effects: ['fact', 'fact'] },
    campaign: { role: 'leader', effects: ['fact'] },
    'forget-leader': { role: 'leader', effects: [] },
    propose: { role: 'leader', effects: ['proposed', 'persist'] },
    persisted: { role: 'leader', effects: [] },
    applied: { role: 'leader', effects: [] },
    'snapshot-installed': 'R10',
    read: { role: 'leader', effects: ['send', 'send'] },
    'change-membership': { role: 'leader', effects: ['membership-refused'] },
    'transfer-leadership': { role: 'leader', effects: ['fact'] },
    'entries-loaded': { role: 'leader', effects: [] },
    'snapshot-sent': { role: 'leader', effects: [] },
    unreachable: { role: 'leader', effects: [] },
    diverge: { role: 'follower', effects: ['fact'] },
    owe: { role: 'follower', effects: ['fact'] },
  },
};

type MessageTable = Readonly<Record<RoleKind, Readonly<Record<Message['kind'], Answer>>>>;
const IGNORED: Readonly<Record<RoleKind, Answer>> = {
  follower: { role: 'follower', effects: [] },
  'pre-candidate': { role: 'pre-candidate', effects: [] },
  candidate: { role: 'candidate', effects: [] },
  leader: { role: 'leader', effects: [] },
};
const FOLLOWS = (...effects: readonly Effect['kind'][]): Answer => ({
  role: 'follower',
  effects: ['fact', ...effects],
});
/** A second leader of the term is not listened to (R13). */
const REFUSED: Answer = { role: 'leader', effects: ['fact'] };

/** A message of the replica's own term; none of them is one that the replica could have sent itself. */
const MESSAGES: MessageTable = {
  follower: {
    'pre-vote-request': { role: 'follower', effects: ['send'] },
    'vote-request': { role: 'follower', effects: ['persist'] },
    'pre-vote-reply': IGNORED.follower,
    'vote-reply': IGNORED.follower,
    append: FOLLOWS('persist'),
    commit: FOLLOWS(),
    beat: FOLLOWS('send'),
    'read-reply': FOLLOWS(),
    'timeout-now': { role: 'candidate', effects: ['fact', 'fact', 'persist'] },
    'install-snapshot': FOLLOWS('install-snapshot'),
    'append-ack': IGNORED.follower,
    'append-reject': IGNORED.follower,
    'beat-ack': IGNORED.follower,
    'read-request': IGNORED.follower,
    'term-notice': IGNORED.follower,
  },
  'pre-candidate': {
    'pre-vote-request': { role: 'pre-candidate', effects: ['send'] },
    'vote-request': { role: 'follower', effects: ['fact', 'persist'] },
    'pre-vote-reply': { role: 'candidate', effects: ['fact', 'persist'] },
    'vote-reply': IGNORED['pre-candidate'],
    append: FOLLOWS('persist'),
    commit: FOLLOWS(),
    beat: FOLLOWS('send'),
    'read-reply': FOLLOWS(),
    'timeout-now': { role: 'candidate', effects: ['fact', 'fact', 'persist'] },
    'install-snapshot': FOLLOWS('install-snapshot'),
    'append-ack': IGNORED['pre-candidate'],
    'append-reject': IGNORED['pre-candidate'],
    'beat-ack': IGNORED['pre-candidate'],
    'read-request': IGNORED['pre-candidate'],
    'term-notice': IGNORED['pre-candidate'],
  },
  candidate: {
    'pre-vote-request': { role: 'candidate', effects: ['send'] },
    'vote-request': { role: 'candidate', effects: ['send'] },
    'pre-vote-reply': IGNORED.candidate,
    'vote-reply': { role: 'leader', effects: ['fact', 'persist', 'send', 'send'] },
    append: FOLLOWS('persist'),
    commit: FOLLOWS(),
    beat: FOLLOWS('send'),
    'read-reply': FOLLOWS(),
    'timeout-now': { role: 'candidate', effects: ['fact', 'fact', 'persist'] },
    'install-snapshot': FOLLOWS('install-snapshot'),
    'append-ack': IGNORED.candidate,
    'append-reject': IGNORED.candidate,
    'beat-ack': IGNORED.candidate,
    'read-request': IGNORED.candidate,
    'term-notice': IGNORED.candidate,
  },
  leader: {
    'pre-vote-request': { role: 'leader', effects: ['fact'] },
    'vote-request': { role: 'leader', effects: ['fact'] },
    'pre-vote-reply': IGNORED.leader,
    'vote-reply': IGNORED.leader,
    append: REFUSED,
    commit: REFUSED,
    beat: REFUSED,
    'read-reply': REFUSED,
    'timeout-now': REFUSED,
    'install-snapshot': REFUSED,
    'append-ack': { role: 'leader', effects: ['send'] },
    'append-reject': { role: 'leader', effects: [] },
    'beat-ack': { role: 'leader', effects: ['send'] },
    'read-request': { role: 'leader', effects: ['send', 'send'] },
    'term-notice': IGNORED.leader,
  },
};

/** A voter of three, just after it took the role; what a candidate wrote is on disk once it leads or is asked to be. */
function replicaAs(role: RoleKind, isVoteDurable: boolean): RaftState {
  const recovered = { hardState: { term: toTerm(0), vote: undefined }, base: ORIGIN, entries: [] };
  const voters = [SELF, OTHER, toReplicaId(3)];
  const follower = openReplica(CONFIG, membershipOf(voters), recovered, { nowMs: 0, seed: 1 });
  if (role === 'follower') return follower;
  const asking = step(follower, { kind: 'campaign' }, 0).state;
  if (role === 'pre-candidate') return asking;
  const candidate = step(asking, from(OTHER, messages(asking)['pre-vote-reply']), 0).state;
  if (role === 'candidate' && !isVoteDurable) return candidate;
  const durable = step(candidate, completion(candidate), 0).state;
  return role === 'candidate' ? durable : step(durable, from(OTHER, messages(durable)['vote-reply']), 0).state;
}

function inputs(state: RaftState): Readonly<Record<Exclude<InputKind, 'receive'>, Input>> {
  return {
    tick: { kind: 'tick' },
    campaign: { kind: 'campaign' },
    'forget-leader': { kind: 'forget-leader' },
    propose: { kind: 'propose', payloads: [new Uint8Array(1)] },
    persisted: completion(state),
    applied: { kind: 'applied', index: NOTHING },
    'snapshot-installed': { kind: 'snapshot-installed', snapshot: { last: ORIGIN, membership: state.membership } },
    read: { kind: 'read', id: 1 },
    'change-membership': { kind: 'change-membership', target: { voters: [SELF], learners: [] } },
    'transfer-leadership': { kind: 'transfer-leadership', to: OTHER },
    'entries-loaded': { kind: 'entries-loaded', replica: OTHER, from: toLogIndex(1), found: undefined },
    'snapshot-sent': { kind: 'snapshot-sent', replica: OTHER, index: undefined },
    unreachable: { kind: 'unreachable', replica: OTHER },
    diverge: { kind: 'diverge' },
    owe: { kind: 'owe', acknowledged: { index: toLogIndex(7), term: toTerm(7) } },
  };
}

function messages(state: RaftState): { readonly [K in Message['kind']]: Extract<Message, { readonly kind: K }> } {
  const { term } = state.hardState;
  const commit = NOTHING;
  const round = 0;
  const id = toLogIndex(1);
  const snapshot = { last: { index: toLogIndex(5), term }, membership: state.membership };
  return {
    'pre-vote-request': { kind: 'pre-vote-request', term, last: ORIGIN, commit: ORIGIN },
    'vote-request': { kind: 'vote-request', term, last: ORIGIN, commit: ORIGIN, isTransfer: false },
    'pre-vote-reply': { kind: 'pre-vote-reply', term, isGranted: true, commit: ORIGIN },
    'vote-reply': { kind: 'vote-reply', term, isGranted: true, commit: ORIGIN },
    append: {
      kind: 'append',
      term,
      previous: ORIGIN,
      entries: [{ index: id, term, payload: new Uint8Array(1) }],
      commit,
    },
    commit: { kind: 'commit', term, commit },
    beat: { kind: 'beat', term, commit, round },
    'read-reply': { kind: 'read-reply', term, id: 7, index: id },
    'timeout-now': { kind: 'timeout-now', term },
    'install-snapshot': { kind: 'install-snapshot', term, snapshot },
    'append-ack': { kind: 'append-ack', term, match: NOTHING },
    'append-reject': { kind: 'append-reject', term, rejected: id, hint: ORIGIN },
    'beat-ack': { kind: 'beat-ack', term, round },
    'read-request': { kind: 'read-request', term, id: 7 },
    'term-notice': { kind: 'term-notice', term },
  };
}

function from(sender: typeof OTHER, message: Message): Input {
  return { kind: 'receive', from: sender, message };
}

function completion(state: RaftState): Input {
  const last = state.log.runs.at(-1)?.at(-1) ?? state.log.base;
  const { term, vote } = state.hardState;
  return { kind: 'persisted', term, vote, index: last.index, logTerm: last.term };
}

/** What a step comes to. */
function outcome(state: RaftState, input: Input, nowMs: number): Answer {
  let result: Step;
  try {
    result = step(state, input, nowMs);
  } catch (error) {
    return String(error).match(/R\d+/)?.[0] ?? String(error);
  }
  checkStep(state, input, result);
  return { role: result.state.role.kind, effects: result.effects.map((effect) => effect.kind) };
}

/** What a progress comes to, in a few words. */
function next(progress: Progress, event: ProgressEvent): string {
  let after: Progress;
  try {
    after = transition(progress, event);
  } catch (error) {
    return String(error).match(/R\d+/)?.[0] ?? String(error);
  }
  const waits = after.kind === 'snapshot' ? [] : [after.waitsFor];
  const inFlight = after.kind === 'replicate' ? after.inFlight.map(({ last }) => last).join(',') : '';
  return [after.kind, after.match, after.next, ...waits, inFlight].filter((word) => word !== '').join(' ');
}

function cells<Cell>(table: Readonly<Record<string, Readonly<Record<string, Cell>>>>): [string, string, Cell][] {
  return Object.entries(table).flatMap(([one, row]) =>
    Object.entries(row).map(([other, cell]): [string, string, Cell] => [one, other, cell]),
  );
}

describe('table of roles and inputs', () => {
  it.each(cells(INPUTS))('a %s answers %s', (role, kind, answer) => {
    const before = replicaAs(role as RoleKind, false);
    const isInstalling = kind === 'snapshot-installed';
    const snapshot = { last: ORIGIN, membership: before.membership };
    const state = isInstalling && role === 'follower' ? { ...before, installing: snapshot } : before;
    const input = inputs(state)[kind as Exclude<InputKind, 'receive'>];
    expect(outcome(state, input, LATE_MS)).toEqual(answer);
  });
});

describe('table of roles and messages', () => {
  it.each(cells(MESSAGES))('a %s takes %s in', (role, kind, answer) => {
    const state = replicaAs(role as RoleKind, true);
    const input = from(OTHER, messages(state)[kind as Message['kind']]);
    expect(outcome(state, input, 0)).toEqual(answer);
  });
});

/** Before each event: match 3, next 6 and an append in flight, or a snapshot of 5 under way. The cell: what is next. */
const PROGRESS: Readonly<Record<Progress['kind'], Readonly<Record<ProgressEvent['kind'], string>>>> = {
  probe: {
    sent: 'probe 3 6 answer',
    asked: 'probe 3 6 answer',
    loading: 'probe 3 6 storage',
    loaded: 'probe 3 6 nothing',
    gone: 'snapshot 3 6',
    acknowledged: 'replicate 5 6 nothing',
    rejected: 'probe 3 5 nothing',
    'beat-acknowledged': 'probe 3 6 nothing',
    unreachable: 'probe 3 6 answer',
    'snapshot-sent': 'probe 3 6 answer',
    'snapshot-failed': 'probe 3 6 answer',
  },
  replicate: {
    sent: 'replicate 3 8 nothing 5,7',
    asked: 'replicate 3 6 nothing 5',
    loading: 'replicate 3 6 storage 5',
    loaded: 'replicate 3 6 nothing 5',
    gone: 'snapshot 3 4',
    acknowledged: 'replicate 5 6 nothing',
    rejected: 'probe 3 4 nothing',
    'beat-acknowledged': 'replicate 3 6 nothing 5',
    unreachable: 'probe 3 4 nothing',
    'snapshot-sent': 'replicate 3 6 nothing 5',
    'snapshot-failed': 'replicate 3 6 nothing 5',
  },
  snapshot: {
    sent: 'R12',
    asked: 'R12',
    loading: 'R12',
    loaded: 'snapshot 3 6',
    gone: 'snapshot 3 6',
    acknowledged: 'replicate 5 6 nothing',
    rejected: 'snapshot 3 6',
    'beat-acknowledged': 'snapshot 3 6',
    unreachable: 'snapshot 3 6',
    'snapshot-sent': 'probe 3 8 answer',
    'snapshot-failed': 'probe 3 4 answer',
  },
};

const MATCH = { match: toLogIndex(3), next: toLogIndex(6) };
const PROGRESSES: Readonly<Record<Progress['kind'], Progress>> = {
  probe: { kind: 'probe', ...MATCH, waitsFor: 'answer' },
  replicate: {
    kind: 'replicate',
    ...MATCH,
    inFlight: [{ last: toLogIndex(5), bytes: 2 }],
    inFlightBytes: 2,
    waitsFor: 'nothing',
  },
  snapshot: { kind: 'snapshot', ...MATCH, least: toLogIndex(5) },
};
const EVENTS: { readonly [K in ProgressEvent['kind']]: Extract<ProgressEvent, { readonly kind: K }> } = {
  sent: { kind: 'sent', last: toLogIndex(7), bytes: 2 },
  asked: { kind: 'asked' },
  loading: { kind: 'loading' },
  loaded: { kind: 'loaded' },
  gone: { kind: 'gone', least: toLogIndex(5) },
  acknowledged: { kind: 'acknowledged', match: toLogIndex(5) },
  rejected: { kind: 'rejected', previous: toLogIndex(5), agreed: toLogIndex(4) },
  'beat-acknowledged': { kind: 'beat-acknowledged' },
  unreachable: { kind: 'unreachable' },
  'snapshot-sent': { kind: 'snapshot-sent', index: toLogIndex(7) },
  'snapshot-failed': { kind: 'snapshot-failed' },
};

describe('table of progress and events (R12)', () => {
  it.each(cells(PROGRESS))('%s goes on after %s', (kind, event, cell) => {
    expect(next(PROGRESSES[kind as Progress['kind']], EVENTS[event as ProgressEvent['kind']])).toBe(cell);
  });
});
