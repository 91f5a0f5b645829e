/**
 * The state of one replica of one group: immutable, so that every earlier state stays readable (tests, simulation and
 * search compare them).
 *
 * What every role has stands in `RaftState`; what only one role has stands in that role (role.ts).
 */
import { assert, type LogIndex, toLogIndex } from '#base';
import type { Config } from './config.ts';
import type { Effect, HardState, Persist } from './effect.ts';
import { type Entry, type EntryId, ORIGIN, type Snapshot } from './entry.ts';
import { type Log, lastId, recoveredLog, termAt } from './log.ts';
import type { Membership } from './membership.ts';
import type { Message } from './message.ts';
import { isVoter, members, type ReplicaId } from './quorum.ts';
import { drawRandom } from './random.ts';
import { followerOf, type Role } from './role.ts';
import { arm, NO_TIMERS, type Timers } from './timers.ts';

export interface RaftState {
  readonly config: Config;
  /** The last committed one (R11). */
  readonly membership: Membership;
  /** Memberships in the log that are not committed, in order. Invariant: at most one (R11). */
  readonly changes: readonly Change[];
  readonly hardState: HardState;
  /** What of the hard state is known to be on disk (R9). */
  readonly durable: HardState;
  readonly log: Log;
  /** A quorum holds everything up to here. Never goes back. */
  readonly commit: LogIndex;
  /** Handed out to be applied. Invariant: applied <= applying <= min(commit, persisted) (R1). */
  readonly applying: LogIndex;
  readonly applied: LogIndex;
  /** A snapshot that is taking the place of the log; nothing is appended meanwhile. */
  readonly installing: Snapshot | undefined;
  readonly timers: Timers;
  /** What is committed here is not what the group has committed: it takes part in nothing any more (R15). */
  readonly isDiverged: boolean;
  /** It had acknowledged entries up to this one, and its disk was put back since: it votes as if it had them (R16). */
  readonly owed: EntryId;
  /** State of the generator that spreads elections; not 0. */
  readonly random: number;
  readonly role: Role;
}

/** A membership in the log. */
export interface Change {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** What `step` answers: the next state, and what the runtime must do, in order. */
export interface Step {
  readonly state: RaftState;
  readonly effects: readonly Effect[];
}

/** What was found on disk for one replica, or the beginning of a new one. */
export interface Recovered {
  readonly hardState: HardState;
  /** The entry up to which the state machine is durable; the log in memory begins behind it. */
  readonly base: EntryId;
  /** Everything in the log behind `base`. */
  readonly entries: readonly Entry[];
  /**
   * Where the entry of the membership that it starts with stands, if it may stand behind `base`: the state machine was
   * taken back behind it. It is known to be committed.
   */
  readonly membershipIndex?: LogIndex;
}

/**
 * A replica after a start: a follower without a leader, with an election deadline if it may vote.
 *
 * `membership` is the one that held at `base`, or a later one that was applied before. Of the memberships in the log
 * all but the last are committed, since no leader appends one before it has committed the one before (R11): so much of
 * the commit index is known at once.
 */
export function openReplica(
  config: Config,
  membership: Membership,
  recovered: Recovered,
  clock: { readonly nowMs: number; readonly seed: number },
): RaftState {
  const { hardState, base, entries, membershipIndex = base.index } = recovered;
  const log = recoveredLog(base, entries);
  assert(lastId(log).term <= hardState.term, 'No entry is of a later term than the hard state', recovered);
  assert(membershipIndex <= lastId(log).index, 'A membership that was applied is in the log', membershipIndex);
  const found = changesIn(entries);
  const known: Change = { index: membershipIndex, membership };
  const before = found.at(-2);
  const held = before !== undefined && before.index > known.index ? before : known;
  const state: RaftState = {
    config,
    membership: held.membership,
    changes: found.slice(-1).filter(({ index }) => index > held.index),
    hardState,
    durable: hardState,
    log,
    commit: toLogIndex(Math.max(base.index, held.index)),
    applying: base.index,
    applied: base.index,
    installing: undefined,
    isDiverged: false,
    owed: ORIGIN,
    timers: NO_TIMERS,
    random: (clock.seed | 0) === 0 ? 1 : clock.seed | 0,
    role: followerOf(undefined, clock.nowMs),
  };
  return mayVote(state) ? armElection(state, clock.nowMs) : state;
}

/** The memberships among these entries. */
export function changesIn(entries: readonly Entry[]): readonly Change[] {
  let found: Change[] | undefined;
  for (const { index, membership } of entries) {
    if (membership === undefined) continue;
    found ??= [];
    found.push({ index, membership });
  }
  return found ?? NO_CHANGES;
}

const NO_CHANGES: readonly Change[] = [];

/** Whether this replica is a voter, as far as it knows, of the history that it holds. */
export function mayVote(state: RaftState): boolean {
  return !state.isDiverged && isVoter(state.membership.voters, state.config.self);
}

/** The last entry that this replica knows to be committed. */
export function commitId(state: RaftState): EntryId {
  const term = termAt(state.log, state.commit);
  assert(term !== undefined, 'R1: the commit index is never below what is in memory', state.commit);
  return { index: state.commit, term };
}

export function unchanged(state: RaftState): Step {
  return { state, effects: [] };
}

/** Goes on from the state that a step led to, keeping its effects in front. */
export function andThen(step: Step, next: (state: RaftState) => Step): Step {
  const following = next(step.state);
  if (following.effects.length === 0) return { state: following.state, effects: step.effects };
  if (step.effects.length === 0) return following;
  return { state: following.state, effects: [...step.effects, ...following.effects] };
}

export function send(to: ReplicaId, message: Message): Effect {
  return { kind: 'send', to, message };
}

/** Sends a message to every other voter. */
export function askVoters({ membership, config }: RaftState, message: Message): readonly Effect[] {
  const others = members(membership.voters).filter((voter) => voter !== config.self);
  return others.map((to) => send(to, message));
}

/** Sets the election deadline to one window plus a share of the jitter from now. */
export function armElection(state: RaftState, nowMs: number): RaftState {
  const random = drawRandom(state.random);
  const jitterMs = Math.floor(((random >>> 0) / 2 ** 32) * state.config.electionJitterMs);
  const deadlineMs = nowMs + state.config.electionWindowMs + jitterMs;
  return { ...state, random, timers: arm(state.timers, 'election', deadlineMs) };
}

/** The effect that puts these entries, and the hard state if asked, behind everything that was persisted before. */
export function persist(state: RaftState, entries: readonly Entry[], withHardState: boolean): Persist {
  const last = lastId(state.log);
  const { term, vote } = state.hardState;
  return {
    kind: 'persist',
    hardState: withHardState ? state.hardState : undefined,
    truncateFrom: undefined,
    entries,
    term,
    vote,
    index: last.index,
    logTerm: last.term,
  };
}

/** New entries of the current term behind the last one. */
export function nextEntries(state: RaftState, payloads: readonly Uint8Array[]): readonly Entry[] {
  const { term } = state.hardState;
  const first = nextIndex(state);
  return payloads.map((payload, at) => ({ index: toLogIndex(first + at), term, payload }));
}

/** Where the next entry will stand. */
export function nextIndex(state: RaftState): LogIndex {
  return toLogIndex(lastId(state.log).index + 1);
}
