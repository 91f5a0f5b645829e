// Goal: every role has a specified reaction to every input and message, and every progress to every event. Method:
// complete tables: a new role, input or message does not compile without its cells.
import { describe, expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import {
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
import { checkStep } from '../../support/raft/step-invariants.ts';

type RoleKind = Role['kind'];
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

/** Columns of the tables. A role without a column does not compile. */
const ROLES: Readonly<Record<RoleKind, number>> = { follower: 0, 'pre-candidate': 1, candidate: 2, leader: 3 };
/** The role and the effects afterwards, or the invariant that excludes the case; '' means no change. */
type Row = readonly [follower: string, preCandidate: string, candidate: string, leader: string];

const ASKS = 'pre-candidate fact send send';
const UNCHANGED: Row = ['', '', '', ''];

/** The reactions of one voter of three, long after every deadline. */
const INPUTS: Readonly<Record<Exclude<InputKind, 'receive'>, Row>> = {
  // No follower has answered the leader for a window, so it steps down.
  tick: [ASKS, ASKS, '', 'follower fact fact'],
  campaign: [ASKS, 'pre-candidate send send', 'candidate fact', 'leader fact'],
  'forget-leader': UNCHANGED,
  propose: ['follower proposed', 'pre-candidate proposed', 'candidate proposed', 'leader proposed persist'],
  persisted: ['', '', 'candidate send send', ''],
  applied: UNCHANGED,
  'snapshot-installed': ['', 'R10', 'R10', 'R10'],
  read: ['follower read-refused', 'pre-candidate read-refused', 'candidate read-refused', 'leader send send'],
  'change-membership': [
    'follower membership-refused',
    'pre-candidate membership-refused',
    'candidate membership-refused',
    'leader membership-refused',
  ],
  'transfer-leadership': ['follower fact', 'pre-candidate fact', 'candidate fact', 'leader fact'],
  'entries-loaded': UNCHANGED,
  'snapshot-sent': UNCHANGED,
  unreachable: UNCHANGED,
  diverge: ['follower fact', 'follower fact', 'follower fact', 'follower fact'],
  owe: ['', 'follower fact', 'follower fact', 'follower fact'],
};

/** Reaction to a message of the leader of the term: all others follow it, but a second leader ignores it (R13). */
const follows = (effect?: Effect['kind']): Row => {
  const cell = ['follower', 'fact', ...(effect === undefined ? [] : [effect])].join(' ');
  return [cell, cell, cell, 'leader fact'];
};
const CAMPAIGNS = 'candidate fact fact persist';

/** Reactions to a message of the replica's own term that the replica cannot have sent itself. */
const MESSAGES: Readonly<Record<Message['kind'], Row>> = {
  'pre-vote-request': ['follower send', 'pre-candidate send', 'candidate send', 'leader fact'],
  'vote-request': ['follower persist', 'follower fact persist', 'candidate send', 'leader fact'],
  'pre-vote-reply': ['', 'candidate fact persist', '', ''],
  'vote-reply': ['', '', 'leader fact persist send send', ''],
  append: follows('persist'),
  commit: follows(),
  beat: follows('send'),
  'read-reply': follows(),
  'timeout-now': [CAMPAIGNS, CAMPAIGNS, CAMPAIGNS, 'leader fact'],
  'install-snapshot': follows('install-snapshot'),
  'append-ack': ['', '', '', 'leader send'],
  'append-reject': UNCHANGED,
  'beat-ack': ['', '', '', 'leader send'],
  'read-request': ['', '', '', 'leader send send'],
  'term-notice': UNCHANGED,
};

/** A voter of three just after it took the role. The write of a candidate is on disk when it leads, or by request. */
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

function outcome(state: RaftState, input: Input, nowMs: number): string {
  let result: Step;
  try {
    result = step(state, input, nowMs);
  } catch (error) {
    return String(error).match(/R\d+/)?.[0] ?? String(error);
  }
  checkStep(state, input, result);
  return [result.state.role.kind, ...result.effects.map((effect) => effect.kind)].join(' ');
}

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

function cells(
  columns: Readonly<Record<string, number>>,
  table: Readonly<Record<string, readonly string[]>>,
): readonly [string, string, string | undefined][] {
  return Object.entries(table).flatMap(([kind, row]) =>
    Object.entries(columns).map(([column, at]): [string, string, string | undefined] => [column, kind, row[at]]),
  );
}

describe('table of roles and inputs', () => {
  it.each(cells(ROLES, INPUTS))('a %s reacts to %s', (role, kind, answer) => {
    const before = replicaAs(role as RoleKind, false);
    const isInstalling = kind === 'snapshot-installed';
    const snapshot = { last: ORIGIN, membership: before.membership };
    const state = isInstalling && role === 'follower' ? { ...before, installing: snapshot } : before;
    const input = inputs(state)[kind as Exclude<InputKind, 'receive'>];
    expect(outcome(state, input, LATE_MS)).toBe(answer === '' ? role : answer);
  });
});

describe('table of roles and messages', () => {
  it.each(cells(ROLES, MESSAGES))('a %s receives %s in', (role, kind, answer) => {
    const state = replicaAs(role as RoleKind, true);
    const input = from(OTHER, messages(state)[kind as Message['kind']]);
    expect(outcome(state, input, 0)).toBe(answer === '' ? role : answer);
  });
});

/**
 * State before each event: match 3, next 6 and an append in flight, or a snapshot of 5 in progress. Cells: state after
 * it.
 */
const STATES: Readonly<Record<Progress['kind'], number>> = { probe: 0, replicate: 1, snapshot: 2 };
const PROGRESS: Readonly<Record<ProgressEvent['kind'], readonly [probe: string, replicate: string, snapshot: string]>> =
  {
    sent: ['probe 3 6 answer', 'replicate 3 8 nothing 5,7', 'R12'],
    asked: ['probe 3 6 answer', 'replicate 3 6 nothing 5', 'R12'],
    loading: ['probe 3 6 storage', 'replicate 3 6 storage 5', 'R12'],
    loaded: ['probe 3 6 nothing', 'replicate 3 6 nothing 5', 'snapshot 3 6'],
    gone: ['snapshot 3 6', 'snapshot 3 4', 'snapshot 3 6'],
    acknowledged: ['replicate 5 6 nothing', 'replicate 5 6 nothing', 'replicate 5 6 nothing'],
    rejected: ['probe 3 5 nothing', 'probe 3 4 nothing', 'snapshot 3 6'],
    'beat-acknowledged': ['probe 3 6 nothing', 'replicate 3 6 nothing 5', 'snapshot 3 6'],
    unreachable: ['probe 3 6 answer', 'probe 3 4 nothing', 'snapshot 3 6'],
    'snapshot-sent': ['probe 3 6 answer', 'replicate 3 6 nothing 5', 'probe 3 8 answer'],
    'snapshot-failed': ['probe 3 6 answer', 'replicate 3 6 nothing 5', 'probe 3 4 answer'],
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
  it.each(cells(STATES, PROGRESS))('%s continues after %s', (kind, event, cell) => {
    expect(next(PROGRESSES[kind as Progress['kind']], EVENTS[event as ProgressEvent['kind']])).toBe(cell);
  });
});
