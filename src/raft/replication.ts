/**
 * Replication to the other members: sends entries, and handles the answers.
 *
 * Entries are sent as soon as they are appended, before this disk has them; they commit once a quorum of disks does
 * (R4). A few entries after others wait until this disk or the member has those, and so form larger appends. There are
 * two kinds of empty appends: a probe of a member that seems to lack nothing, and a nudge of one that has not advanced
 * for a whole heartbeat interval, whose last append may be lost. A commit index without entries is sent as `commit`,
 * which is not answered.
 */
import { assert, type LogIndex, toLogIndex } from '#base';
import type { Effect } from './effect.ts';
import { type Entry, payloadBytes } from './entry.ts';
import type { EntriesLoaded } from './input.ts';
import { chunk, lastId, lastWithin, termAt } from './log.ts';
import type { Append, AppendReject } from './message.ts';
import { maySend, type Progress, type ProgressEvent, transition } from './progress.ts';
import type { ReplicaId } from './quorum.ts';
import type { Leader, Peer } from './role.ts';
import { type RaftState, type Step, send, unchanged } from './state.ts';

interface Fed {
  readonly peer: Peer;
  readonly effects: readonly Effect[];
}

export function leaderOf({ role }: Pick<RaftState, 'role'>): Leader {
  assert(role.kind === 'leader', 'Only a leader replicates', role.kind);
  return role;
}

/** Sends every member the messages that its window allows. */
export function replicate(state: RaftState): Step {
  const role = leaderOf(state);
  if (role.peers.size === 0) return unchanged(state);
  const peers = new Map(role.peers);
  const effects: Effect[] = [];
  for (const [id, peer] of role.peers) {
    const fed = feed(state, id, peer);
    peers.set(id, fed.peer);
    effects.push(...fed.effects);
  }
  return effects.length === 0 ? unchanged(state) : { state: { ...state, role: { ...role, peers } }, effects };
}

/** Records a message of this term from a member; undefined when the sender is no member. */
export function hear(state: RaftState, from: ReplicaId, nowMs: number): RaftState | undefined {
  const peer = leaderOf(state).peers.get(from);
  return peer === undefined ? undefined : withPeer(state, from, { ...peer, heardMs: nowMs, hasAnswered: true });
}

export function progressed(state: RaftState, id: ReplicaId, event: ProgressEvent): RaftState {
  const peer = leaderOf(state).peers.get(id);
  if (peer === undefined) return state;
  const progress = transition(peer.progress, event);
  return progress === peer.progress ? state : withPeer(state, id, { ...peer, progress });
}

export function withPeer(state: RaftState, id: ReplicaId, peer: Peer): RaftState {
  const role = leaderOf(state);
  return { ...state, role: { ...role, peers: new Map(role.peers).set(id, peer) } };
}

/**
 * A member's log diverges: moves back to the latest possible agreement. A member that lacks acknowledged entries has
 * had its disk restored: its acknowledgements no longer count, and it receives all entries again.
 */
export function takeRejection(state: RaftState, from: ReplicaId, { rejected, hint }: AppendReject): Step {
  const agreed = lastWithin(state.log, hint).index;
  const taken = progressed(state, from, { kind: 'rejected', previous: rejected, agreed });
  const acknowledged = leaderOf(state).peers.get(from)?.progress.match ?? toLogIndex(0);
  const left = leaderOf(taken).peers.get(from)?.progress.match ?? acknowledged;
  if (left === acknowledged) return unchanged(taken);
  // Entries below the log in memory have at most the term of its base.
  const term = termAt(state.log, acknowledged) ?? state.log.base.term;
  const fact = { kind: 'acknowledged-lost', replica: from, acknowledged: { index: acknowledged, term } } as const;
  return { state: taken, effects: [{ kind: 'fact', fact }] };
}

/** Handles the answer of storage: sends its entries, or a snapshot if it no longer has them. */
export function takeLoaded(state: RaftState, { replica, from, found }: EntriesLoaded): Step {
  const peer = leaderOf(state).peers.get(replica);
  if (peer === undefined || peer.progress.kind === 'snapshot' || peer.progress.waitsFor !== 'storage') {
    return unchanged(state);
  }
  const { term } = state.hardState;
  if (found === undefined) {
    const least = state.log.base.index;
    const waiting = progressed(state, replica, { kind: 'gone', least });
    return { state: waiting, effects: [{ kind: 'send-snapshot', to: replica, least, term }] };
  }
  const loaded = progressed(state, replica, { kind: 'loaded' });
  const [first] = found.entries;
  const last = found.entries.at(-1);
  if (peer.progress.next !== from || first === undefined || last === undefined) return replicate(loaded);
  assert(
    first.index === from && last.index <= state.commit,
    'Loaded entries are those that were asked for',
    first.index,
  );
  const previous = { index: before(from), term: found.previousTerm };
  const append = { kind: 'append', term, previous, entries: found.entries, commit: state.commit } as const;
  const sent = progressed(loaded, replica, { kind: 'sent', last: last.index, bytes: payloadBytes(found.entries) });
  const further = replicate(sent);
  return { state: further.state, effects: [send(replica, append), ...further.effects] };
}

/** An append without entries: asks whether the member has everything that was sent to it. */
export function ask(state: RaftState, progress: Progress): Append | undefined {
  const { log, commit, hardState } = state;
  const index = before(progress.next);
  const term = termAt(log, index);
  if (term === undefined) return undefined;
  return { kind: 'append', term: hardState.term, previous: { index, term }, entries: [], commit };
}

function feed(state: RaftState, id: ReplicaId, peer: Peer): Fed {
  const { log, commit, config, hardState } = state;
  const { term } = hardState;
  const last = lastId(log).index;
  const effects: Effect[] = [];
  let { progress, sentCommit } = peer;
  while (progress.next <= last && maySend(progress, config.replication)) {
    const { appendBytesMax } = config.replication;
    const from = progress.next;
    if (from <= log.base.index) {
      effects.push({ kind: 'load-entries', replica: id, from, to: after(log.base.index), bytesMax: appendBytesMax });
      progress = transition(progress, { kind: 'loading' });
      break;
    }
    const entries = chunk(log, from, appendBytesMax);
    if (mayGather(state, progress, entries)) break;
    const sent = entries.at(-1);
    const asked = ask(state, progress);
    assert(sent !== undefined && asked !== undefined, 'What is sent is in memory', from);
    effects.push(send(id, { ...asked, entries }));
    progress = transition(progress, { kind: 'sent', last: sent.index, bytes: payloadBytes(entries) });
    sentCommit = commit;
  }
  if (progress.kind === 'probe' && maySend(progress, config.replication)) {
    const asked = ask(state, progress);
    assert(asked !== undefined, 'A probe begins at the end of the log at the latest', progress);
    effects.push(send(id, asked));
    progress = transition(progress, { kind: 'asked' });
  }
  if (progress.kind === 'replicate' && progress.next > last && sentCommit < commit) {
    effects.push(send(id, { kind: 'commit', term, commit }));
    sentCommit = commit;
  }
  return { peer: effects.length === 0 ? peer : { ...peer, progress, sentCommit }, effects };
}

/**
 * Returns true when these last entries should wait for more: earlier ones are in flight to the member, and this disk
 * still writes those. They are sent when either is done, or when there are enough of them.
 */
function mayGather({ log, config }: RaftState, progress: Progress, entries: readonly Entry[]): boolean {
  if (progress.kind !== 'replicate' || progress.inFlight.length === 0) return false;
  if (log.persisted >= before(progress.next) || entries.at(-1)?.index !== lastId(log).index) return false;
  return payloadBytes(entries) < config.replication.gatherBytes;
}

function before(index: LogIndex): LogIndex {
  return toLogIndex(index - 1);
}

function after(index: LogIndex): LogIndex {
  return toLogIndex(index + 1);
}
