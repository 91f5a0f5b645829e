/**
 * The state of one replica of one group: immutable, so that every earlier state stays readable (tests, simulation and
 * search compare them).
 *
 * What every role has stands in `RaftState`; what only one role has stands in that role, so that a follower cannot
 * have a progress table and a leader cannot have votes.
 */
import { assert, type LogIndex, toLogIndex } from '#base';
import type { Effect, HardState, Persist } from './effect.ts';
import { type Entry, type EntryId, type Log, lastId, recoveredLog } from './log.ts';
import { isVoter, type ReplicaId, type VoterSet } from './quorum.ts';
import { arm, NO_TIMERS, type Timers } from './timers.ts';

export interface Config {
  readonly self: ReplicaId;
  /** Without a leader for this long, plus up to `electionJitterMs`, a voter campaigns. */
  readonly electionWindowMs: number;
  readonly electionJitterMs: number;
  /** Bytes of payloads that may wait for a quorum; one proposal always fits when none wait. */
  readonly uncommittedBytesMax: number;
  readonly pendingReadsMax: number;
}

export interface Follower {
  readonly kind: 'follower';
  readonly leader: ReplicaId | undefined;
}

export interface Candidate {
  readonly kind: 'candidate';
  /** Who has answered, and how. Its own vote counts like any other: once it is on disk (R7). */
  readonly votes: ReadonlyMap<ReplicaId, boolean>;
}

export interface Leader {
  readonly kind: 'leader';
  /** The no-op that opened this leadership. Until it is committed nothing is known to be current (R5). */
  readonly first: LogIndex;
  /** How much of the log each voter is known to hold durably; the leader itself is one of them. */
  readonly match: ReadonlyMap<ReplicaId, LogIndex>;
  /** Bytes of the payloads behind the commit index. */
  readonly uncommittedBytes: number;
  /** Reads that still need the first commit of the term or a quorum, in order of arrival. */
  readonly reads: readonly PendingRead[];
}

export interface PendingRead {
  readonly id: number;
  /** Who has confirmed, after the read arrived, that this leader still leads. */
  readonly confirmed: ReadonlySet<ReplicaId>;
}

export type Role = Follower | Candidate | Leader;

export interface RaftState {
  readonly config: Config;
  readonly voters: VoterSet;
  readonly hardState: HardState;
  readonly log: Log;
  /** A quorum holds everything up to here. Never goes back. */
  readonly commit: LogIndex;
  /** Handed out to be applied. Invariant: applied <= applying <= min(commit, persisted) (R1). */
  readonly applying: LogIndex;
  readonly applied: LogIndex;
  readonly timers: Timers;
  /** State of the generator that spreads elections; not 0. */
  readonly random: number;
  readonly role: Role;
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
}

/** A replica after a start: a follower without a leader, with an election deadline if it may vote. */
export function openReplica(
  config: Config,
  voters: VoterSet,
  recovered: Recovered,
  clock: { readonly nowMs: number; readonly seed: number },
): RaftState {
  const log = recoveredLog(recovered.base, recovered.entries);
  assert(lastId(log).term <= recovered.hardState.term, 'No entry is of a later term than the hard state', recovered);
  const state: RaftState = {
    config,
    voters,
    hardState: recovered.hardState,
    log,
    commit: recovered.base.index,
    applying: recovered.base.index,
    applied: recovered.base.index,
    timers: NO_TIMERS,
    random: (clock.seed | 0) === 0 ? 1 : clock.seed | 0,
    role: { kind: 'follower', leader: undefined },
  };
  return isVoter(voters, config.self) ? armElection(state, clock.nowMs) : state;
}

export function unchanged(state: RaftState): Step {
  return { state, effects: [] };
}

/** Goes on from the state that a step led to, keeping its effects in front. */
export function andThen(step: Step, next: (state: RaftState) => Step): Step {
  const following = next(step.state);
  if (following.effects.length === 0) return { state: following.state, effects: step.effects };
  return { state: following.state, effects: [...step.effects, ...following.effects] };
}

/** Sets the election deadline to one window plus a share of the jitter from now. */
export function armElection(state: RaftState, nowMs: number): RaftState {
  const random = xorshift32(state.random);
  const jitterMs = Math.floor(((random >>> 0) / 2 ** 32) * state.config.electionJitterMs);
  const deadlineMs = nowMs + state.config.electionWindowMs + jitterMs;
  return { ...state, random, timers: arm(state.timers, 'election', deadlineMs) };
}

/** The effect that puts these entries, and the hard state if asked, behind everything that was persisted before. */
export function persist(state: RaftState, entries: readonly Entry[], withHardState: boolean): Persist {
  const last = lastId(state.log);
  const hardState = withHardState ? state.hardState : undefined;
  return { kind: 'persist', hardState, entries, term: state.hardState.term, index: last.index, logTerm: last.term };
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

// Marsaglia's 32-bit generator: cheap, seeded, and good enough to spread elections. Its only fixed point is 0.
function xorshift32(seed: number): number {
  let next = seed;
  next ^= next << 13;
  next ^= next >>> 17;
  next ^= next << 5;
  return next;
}
