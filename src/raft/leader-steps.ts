/**
 * The steps of a leadership: its no-op, appends, commits by quorum, and membership changes, which may end it.
 */
import { assert, toLogIndex } from '#base';
import { follow } from './become-follower.ts';
import { commitThrough } from './commit.ts';
import type { Effect } from './effect.ts';
import { type Entry, payloadBytes } from './entry.ts';
import { armBeat } from './heartbeats.ts';
import { append, lastId, slice, termAt } from './log.ts';
import { everybody, isJoint, leave, type Membership } from './membership.ts';
import { unknownProgress } from './progress.ts';
import { isVoter, quorumIndex, type ReplicaId } from './quorum.ts';
import { releaseReads } from './read-index.ts';
import { leaderOf, replicate } from './replication.ts';
import type { Leader, Peer } from './role.ts';
import {
  andThen,
  mayVote,
  nextEntries,
  nextIndex,
  persist,
  type RaftState,
  type Step,
  send,
  unchanged,
} from './state.ts';
import { NO_TIMERS } from './timers.ts';
import { giveUpTransfer, handOver } from './transfer.ts';

const NO_OP = new Uint8Array(0);

/** Becomes leader after a won election: appends a no-op. */
export function lead(state: RaftState, nowMs: number): Step {
  const { term } = state.hardState;
  const first = nextIndex(state);
  const role: Leader = {
    kind: 'leader',
    first,
    peers: peersOf(state, new Map(), nowMs),
    uncommittedBytes: payloadBytes(slice(state.log, state.commit + 1, first)),
    reads: [],
    round: 0,
    transfer: undefined,
  };
  const leading = armBeat({ ...state, role, timers: NO_TIMERS }, nowMs);
  const fact: Effect = { kind: 'fact', fact: { kind: 'became-leader', term, first } };
  const opened = appendEntries(leading, nextEntries(leading, [NO_OP]));
  return { state: opened.state, effects: [fact, ...opened.effects] };
}

/** Appends its own entries, and sends them to the others while its disk still writes them. */
export function appendEntries(state: RaftState, entries: readonly Entry[]): Step {
  const appended: RaftState = { ...state, log: append(state.log, entries) };
  return andThen({ state: appended, effects: [persist(appended, entries, false)] }, replicate);
}

/** Appends a membership (R11); the caller has checked that it may. */
export function appendMembership(state: RaftState, membership: Membership): Step {
  assert(state.changes.length === 0, 'R11: one change at a time', state.changes);
  const index = nextIndex(state);
  const entry: Entry = { index, term: state.hardState.term, payload: NO_OP, membership };
  return appendEntries({ ...state, changes: [{ index, membership }] }, [entry]);
}

/** Performs everything that progress of a disk, or of the membership, has made possible. */
export function advance(state: RaftState, nowMs: number): Step {
  return andThen(commitReached(state), (committed) => {
    if (committed.membership !== state.membership) {
      return andThen(adoptMembership(committed, nowMs), (adopted) =>
        adopted.role.kind === 'leader' ? advance(adopted, nowMs) : unchanged(adopted),
      );
    }
    const left = mustLeave(committed) ? appendMembership(committed, leave(committed.membership)) : replicate(committed);
    return andThen(andThen(left, releaseReads), handOver);
  });
}

/** Commits the entries that a quorum has, if the last one is of this term (R4). */
function commitReached(state: RaftState): Step {
  const role = leaderOf(state);
  const { self } = state.config;
  const reached = quorumIndex(state.membership.voters, (voter) =>
    voter === self ? state.log.persisted : (role.peers.get(voter)?.progress.match ?? NOTHING),
  );
  if (reached <= state.commit || termAt(state.log, reached) !== state.hardState.term) return unchanged(state);
  const committedBytes = payloadBytes(slice(state.log, state.commit + 1, reached + 1));
  const uncommittedBytes = role.uncommittedBytes - committedBytes;
  return commitThrough({ ...state, role: { ...role, uncommittedBytes } }, reached);
}

const NOTHING = toLogIndex(0);

/** Returns true when a joint membership is in effect at this leader, which then leaves it (R11). */
function mustLeave(state: RaftState): boolean {
  if (!isJoint(state.membership) || state.changes.length > 0) return false;
  const role = leaderOf(state);
  return state.commit >= role.first && role.transfer === undefined;
}

/** Tracks the members of the group. Sends removed members a last commit index, and steps down when it is no voter. */
function adoptMembership(state: RaftState, nowMs: number): Step {
  const role = leaderOf(state);
  const { commit, hardState, membership } = state;
  const peers = peersOf(state, role.peers, nowMs);
  const gone = [...role.peers.keys()].filter((id) => !peers.has(id));
  const farewells = gone.map((id) => send(id, { kind: 'commit', term: hardState.term, commit }));
  const adopted = armBeat({ ...state, role: { ...role, peers } }, nowMs);
  const told: Step = { state: adopted, effects: farewells };
  if (!mayVote(adopted)) return andThen(andThen(told, replicate), (removed) => giveWay(removed, nowMs));
  const target = role.transfer?.to;
  return target === undefined || isVoter(membership.voters, target) ? told : andThen(told, giveUpTransfer);
}

/**
 * Steps down as a removed leader. The voter with the longest log campaigns at once, which saves an election timeout;
 * it knows already that the membership is in effect, or learns it with its votes.
 */
function giveWay(state: RaftState, nowMs: number): Step {
  const { peers } = leaderOf(state);
  const { term } = state.hardState;
  let target: ReplicaId | undefined;
  for (const [id, { progress }] of peers) {
    const most = target === undefined ? state.commit - 1 : (peers.get(target)?.progress.match ?? 0);
    if (isVoter(state.membership.voters, id) && progress.match > most) target = id;
  }
  const told: readonly Effect[] = target === undefined ? [] : [send(target, { kind: 'timeout-now', term })];
  return andThen({ state, effects: told }, (left) => follow(left, undefined, nowMs));
}

function peersOf(state: RaftState, known: ReadonlyMap<ReplicaId, Peer>, nowMs: number): ReadonlyMap<ReplicaId, Peer> {
  const { self } = state.config;
  const next = toLogIndex(lastId(state.log).index + 1);
  const peers = new Map<ReplicaId, Peer>();
  for (const id of everybody(state.membership)) {
    if (id === self) continue;
    peers.set(id, known.get(id) ?? newPeer(next, nowMs));
  }
  return peers;
}

/** Counts as heard at the start of the leadership, so that each member has one window to answer. */
function newPeer(next: Parameters<typeof unknownProgress>[0], nowMs: number): Peer {
  return {
    progress: unknownProgress(next),
    heardMs: nowMs,
    hasAnswered: false,
    round: 0,
    sentCommit: NOTHING,
    matchAtBeat: NOTHING,
  };
}
