/**
 * The state of one replica of one group: immutable, so that tests, the simulation and the search of all states of a
 * small group (`npm run search`) can keep and compare earlier states.
 *
 * `RaftState` has the fields common to all roles; role.ts has those of each role. `openReplica` makes the first state,
 * and the steps of all roles share the other functions.
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
  /** The last committed membership (R11). */
  readonly membership: Membership;
  /** Uncommitted memberships in the log, in order. Invariant: at most one (R11). */
  readonly changes: readonly Change[];
  readonly hardState: HardState;
  /** The part of the hard state that is known to be on disk (R9). */
  readonly durable: HardState;
  readonly log: Log;
  /** Commit index: a quorum has everything up to here. Never decreases. */
  readonly commit: LogIndex;
  /** Last index emitted to be applied. Invariant: applied <= applying <= min(commit, persisted) (R1). */
  readonly applying: LogIndex;
  readonly applied: LogIndex;
  /** A snapshot that is replacing the log; nothing is appended during that. */
  readonly installing: Snapshot | undefined;
  readonly timers: Timers;
  /** A committed entry differs from the group's: the replica no longer participates (R15). */
  readonly isDiverged: boolean;
  /** Last entry that was acknowledged before the disk was restored: it votes as if it had it (R16). */
  readonly owed: EntryId;
  /** State of the generator of election jitter; not 0. */
  readonly random: number;
  readonly role: Role;
}

/** A membership in the log. */
export interface Change {
  readonly index: LogIndex;
  readonly membership: Membership;
}

/** Result of `step`: the next state, and the effects for the runtime, in order. */
export interface Step {
  readonly state: RaftState;
  readonly effects: readonly Effect[];
}

/** The state of a replica on disk, or that of a new one. */
export interface Recovered {
  readonly hardState: HardState;
  /** The entry up to which the state machine is durable; the log in memory begins after it. */
  readonly base: EntryId;
  /** All log entries after `base`. */
  readonly entries: readonly Entry[];
  /**
   * Index of the initial membership's entry, if it may be after `base` because the state machine was restored to an
   * earlier state. The entry is known to be committed.
   */
  readonly membershipIndex?: LogIndex;
}

/**
 * A replica after a start: a follower without a leader, with an election deadline if it may vote.
 *
 * `membership` is the one in effect at `base`, or a later one that was applied before. All memberships in the log but
 * the last are committed, since no leader appends one before the previous one is committed (R11): this gives a lower
 * bound of the commit index.
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

/** Returns true when this replica knows itself to be a voter and has not diverged. */
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

/** Continues from the state of a step, and puts its effects first. */
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

/** The effect that persists these entries, and the hard state if requested, after all earlier ones. */
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

/** New entries of the current term after the last one. */
export function nextEntries(state: RaftState, payloads: readonly Uint8Array[]): readonly Entry[] {
  const { term } = state.hardState;
  const first = nextIndex(state);
  return payloads.map((payload, at) => ({ index: toLogIndex(first + at), term, payload }));
}

/** Index of the next entry. */
export function nextIndex(state: RaftState): LogIndex {
  return toLogIndex(lastId(state.log).index + 1);
}
