// The numbered invariants of #raft that concern one state, as executable checks; step-invariants.ts has those of a
// step.
//
// Tests and the simulation run them after every step. They share no code with the core except for reading the log. A
// violated invariant throws `BrokenInvariant` with its number.
import { assert } from '#base';
import {
  type Entry,
  type Follower,
  type Leader,
  lastId,
  type Membership,
  type Peer,
  type RaftState,
  type ReplicaId,
} from '#raft';
import type { Log } from '../../../src/raft/log.ts';
import type { Candidate } from '../../../src/raft/role.ts';

/** Checks one state. */
export function checkState(state: RaftState): void {
  checkIndexes(state);
  checkHardState(state);
  checkMembership(state);
  const { role, timers } = state;
  const { incoming, outgoing } = state.membership.voters;
  const { isDiverged, config } = state;
  const campaigns = [...incoming, ...outgoing].includes(config.self) && role.kind !== 'leader' && !isDiverged;
  assert((timers.election !== undefined) === campaigns, 'R11: only a voter that does not lead will campaign', timers);
  assert(!isDiverged || (role.kind === 'follower' && role.leader === undefined), 'R15: it takes part in nothing', role);
  if (role.kind === 'follower') checkFollower(state, role);
  if (role.kind === 'candidate') checkCandidate(state, role);
  if (role.kind === 'leader') checkLeader(state, role);
}

/** All entries in memory. */
export function entriesOf(log: Log): readonly Entry[] {
  return log.runs.flat();
}

function checkIndexes({ log, commit, applying, applied, hardState }: RaftState): void {
  const last = lastId(log);
  assert(log.base.index <= applied, 'R1: only applied entries are released', [log.base.index, applied]);
  assert(applied <= applying, 'R1: only what was handed out is applied', [applied, applying]);
  assert(applying <= commit, 'R1: only what is committed is handed out', [applying, commit]);
  assert(applying <= log.persisted, 'R1: only what is durable here is handed out', [applying, log.persisted]);
  assert(log.base.index <= log.persisted && log.persisted <= last.index, 'R2: persisted lies inside the log', log);
  assert(commit <= last.index, 'R2: only what exists is committed', [commit, last.index]);
  checkChain(log);
  assert(last.term <= hardState.term, 'R3: no entry is of a future term', [last.term, hardState.term]);
}

function checkChain(log: Log): void {
  let previous = log.base;
  for (const entry of entriesOf(log)) {
    assert(entry.index === previous.index + 1, 'R3: the log has no gap', [previous.index, entry.index]);
    assert(entry.term >= previous.term, 'R3: terms never fall along the log', [previous.term, entry.term]);
    previous = entry;
  }
}

function checkHardState({ hardState, durable, role, config }: RaftState): void {
  const isBehind = durable.term < hardState.term;
  const isSame = durable.term === hardState.term && (durable.vote ?? hardState.vote) === hardState.vote;
  assert(isBehind || isSame, 'R9: what is on disk is an earlier hard state, or this one', [durable, hardState]);
  if (role.kind === 'follower' || role.kind === 'pre-candidate') return;
  assert(hardState.vote === config.self, 'R7: who campaigns or leads has voted for itself', hardState);
}

function checkMembership({ membership, changes, log, commit, installing, role }: RaftState): void {
  const seats = seatsOf(membership);
  assert(
    [...seats.values()].every((seat) => SEATS.has(seat)),
    'R11: a membership is well-formed',
    [...seats],
  );
  assert(membership.voters.incoming.length > 0, 'R11: a group has a voter', [...seats]);
  assert(changes.length <= 1, 'R11: at most one change is not known to be committed', changes);
  const open = entriesOf(log).filter((entry) => entry.membership !== undefined && entry.index > commit);
  assert(open.length === changes.length, 'R11: the change in the log is the one that is kept', [open, changes]);
  assert(open[0]?.membership === changes[0]?.membership, 'R11: the change in the log is the one that is kept', changes);
  assert(installing === undefined || role.kind === 'follower', 'R10: only a follower installs a snapshot', role.kind);
}

/**
 * Allowed roles of a member: voter of the incoming half, of the outgoing half, or of both; learner; or outgoing voter
 * that will become a learner.
 */
const SEATS: ReadonlySet<string> = new Set(['i', 'o', 'io', 'l', 'on']);

/** For each member, one letter for every occurrence in a list. */
function seatsOf({ voters, learners, learnersNext }: Membership): ReadonlyMap<ReplicaId, string> {
  const seats = new Map<ReplicaId, string>();
  const lists = { i: voters.incoming, o: voters.outgoing, l: learners, n: learnersNext };
  for (const [letter, list] of Object.entries(lists)) {
    for (const id of list) seats.set(id, (seats.get(id) ?? '') + letter);
  }
  return seats;
}

function checkFollower({ log, durable, hardState }: RaftState, role: Follower): void {
  assert(role.verified <= lastId(log).index, 'R10: only what exists is verified', [role.verified, log]);
  assert(durable.term <= hardState.term, 'R9: no later term is on disk', [durable, hardState]);
  assert(role.reads.length === 0 || role.leader !== undefined, 'R5: reads are forwarded to a leader', role.reads);
  const tickets = new Set(role.reads.map(({ ticket }) => ticket));
  assert(tickets.size === role.reads.length, 'R5: a ticket is given once', role.reads);
}

function checkCandidate({ config, durable, hardState }: RaftState, role: Candidate): void {
  const isDurable = durable.term === hardState.term && durable.vote === config.self;
  assert(isDurable || !role.votes.has(config.self), 'R7: its own vote counts once it is on disk', [durable, hardState]);
  assert(isDurable || role.votes.size === 0, 'R9: nobody answers before the vote that asked is on disk', role.votes);
}

function checkLeader(state: RaftState, role: Leader): void {
  const { log, hardState, durable, commit, config, membership } = state;
  assert(durable.term === hardState.term && durable.vote === config.self, 'R7: a leader was elected', durable);
  const first = entriesOf(log).find((entry) => entry.index === role.first);
  const isReleased = role.first <= log.base.index;
  const isOwn = isReleased || first?.term === hardState.term;
  assert(isOwn, 'R4: a leadership begins with an entry of its term', role.first);
  let bytes = 0;
  for (const entry of entriesOf(log)) if (entry.index > commit) bytes += entry.payload.length;
  assert(role.uncommittedBytes === bytes, 'R4: a leader knows how many bytes wait', [role.uncommittedBytes, bytes]);
  const others = [...seatsOf(membership).keys()].filter((id) => id !== config.self);
  assert(others.length === role.peers.size, 'R11: a leader tracks every other member', [others, role.peers.size]);
  for (const id of others) {
    const peer = role.peers.get(id);
    assert(peer !== undefined, 'R11: a leader tracks every other member', id);
    checkPeer(state, role, peer);
  }
  let before = 0;
  for (const { round } of role.reads) {
    assert(round <= role.round + 1 && round >= before, 'R5: a read waits for this round or the next', [
      round,
      role.round,
    ]);
    before = round;
  }
}

function checkPeer({ log, config }: RaftState, role: Leader, { progress, round }: Peer): void {
  const { match, next } = progress;
  assert(round <= role.round, 'R5: nobody confirms a round that was not begun', [round, role.round]);
  assert(match < next, 'R12: what is next was not acknowledged', progress);
  assert(match <= lastId(log).index, 'R12: nobody holds more than there is', progress);
  if (progress.kind !== 'replicate') return;
  const { inFlightMessagesMax } = config.replication;
  assert(progress.inFlight.length <= inFlightMessagesMax, 'R12: the window is kept', progress.inFlight.length);
  let before: number = match;
  let bytes = 0;
  for (const message of progress.inFlight) {
    assert(message.last > before && message.last < next, 'R12: what is in flight lies behind match', progress);
    before = message.last;
    bytes += message.bytes;
  }
  assert(bytes === progress.inFlightBytes, 'R12: a leader knows how many bytes are in flight', progress);
}
