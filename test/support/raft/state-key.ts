/**
 * The parts of a world as words: total schemas (fields.ts), which write or excuse every field, so that two parts with
 * the same words are parts that nothing can tell apart from here on. keys.ts makes numbers and keys of them.
 */
import type {
  Entry,
  EntryId,
  HardState,
  Membership,
  Message,
  Peer,
  Progress,
  RaftState,
  ReplicaId,
  Role,
  Snapshot,
  VoterSet,
} from '#raft';
import {
  boolean,
  bytes,
  excused,
  KIND,
  list,
  number,
  optional,
  pair,
  record,
  replica,
  union,
  unordered,
  type Writer,
} from './fields.ts';
import type { Disk, Envelope, History, Machine, Replica } from './world.ts';

const entryId: Writer<EntryId> = record<EntryId>({ index: number, term: number });
const voterSet: Writer<VoterSet> = record<VoterSet>({ incoming: unordered(replica), outgoing: unordered(replica) });
const membership: Writer<Membership> = record<Membership>({
  voters: voterSet,
  learners: unordered(replica),
  learnersNext: unordered(replica),
});
const entry: Writer<Entry> = record<Entry>({
  index: number,
  term: number,
  payload: bytes,
  membership: optional(membership),
});
const entries: Writer<readonly Entry[]> = list(entry);
const snapshot: Writer<Snapshot> = record<Snapshot>({ last: entryId, membership });
const hardState: Writer<HardState> = record<HardState>({ term: number, vote: optional(replica) });
const votes: Writer<Iterable<readonly [ReplicaId, boolean]>> = unordered(pair(replica, boolean));

const progress: Writer<Progress> = union<Progress>({
  probe: {
    kind: KIND,
    match: number,
    next: number,
    waitsFor: (value, { out }) => out.push(['nothing', 'answer', 'storage'].indexOf(value)),
  },
  replicate: {
    kind: KIND,
    match: number,
    next: number,
    inFlight: list(record<{ readonly last: number; readonly bytes: number }>({ last: number, bytes: number })),
    inFlightBytes: number,
    waitsFor: (value, { out }) => out.push(['nothing', 'storage'].indexOf(value)),
  },
  snapshot: { kind: KIND, match: number, next: number, least: number },
});

const peer: Writer<Peer> = record<Peer>({
  progress,
  heardMs: number,
  hasAnswered: boolean,
  round: number,
  toldCommit: number,
  matchAtBeat: number,
});

const role: Writer<Role> = union<Role>({
  follower: {
    kind: KIND,
    leader: optional(replica),
    heardMs: number,
    verified: number,
    owesAck: boolean,
    reads: list(record({ id: number, ticket: number, deadlineMs: number })),
  },
  'pre-candidate': { kind: KIND, votes },
  candidate: { kind: KIND, votes, isTransfer: boolean },
  leader: {
    kind: KIND,
    first: number,
    peers: unordered(pair(replica, peer)),
    uncommittedBytes: number,
    reads: list(
      record<{ readonly id: number; readonly from: ReplicaId | undefined; readonly round: number }>({
        id: number,
        from: optional(replica),
        round: number,
      }),
    ),
    round: number,
    transfer: optional(record<{ readonly to: ReplicaId; readonly isTold: boolean }>({ to: replica, isTold: boolean })),
  },
});

const state: Writer<RaftState> = record<RaftState>({
  config: excused('it never changes, and is the same for all replicas but for their names'),
  membership,
  changes: list(record<RaftState['changes'][number]>({ index: number, membership })),
  hardState,
  durable: hardState,
  log: record<RaftState['log']>({
    base: entryId,
    // How they are cut changes nothing but the time that an append takes (log.ts).
    runs: (runs, words) => entries(runs.flat(), words),
    persisted: number,
    bytes: number,
  }),
  commit: number,
  applying: number,
  applied: number,
  installing: optional(snapshot),
  timers: record<RaftState['timers']>({
    election: optional(number),
    beat: optional(number),
    transfer: optional(number),
    read: optional(number),
  }),
  random: excused('the jitter is 0 and nobody reads, so that no draw shows'),
  role,
});

const machine: Writer<Machine> = record<Machine>({ last: entryId, membership });
const disk: Writer<Disk> = record<Disk>({ hardState, start: entryId, entries, machine });
const write: Writer<Replica['writing'][number]> = union<Replica['writing'][number]>({
  persist: {
    kind: KIND,
    hardState: optional(hardState),
    truncateFrom: optional(number),
    entries,
    term: number,
    vote: optional(replica),
    index: number,
    logTerm: number,
  },
  'install-snapshot': { kind: KIND, snapshot },
});

export const REPLICA: Writer<Replica> = record<Replica>({
  id: replica,
  config: excused('it never changes, and is the same for all replicas but for their names'),
  state: optional(state),
  disk,
  writing: list(write),
  asked: list(
    union<Replica['asked'][number]>({
      'load-entries': { kind: KIND, replica, from: number, to: number, bytesMax: number },
      'send-snapshot': { kind: KIND, to: replica, least: number, term: number },
    }),
  ),
  toApply: entries,
  machine,
  starts: excused('it only goes into the seed of the generator, see `random`'),
});

const message: Writer<Message> = union<Message>({
  'pre-vote-request': { kind: KIND, term: number, last: entryId, commit: entryId },
  'pre-vote-reply': { kind: KIND, term: number, isGranted: boolean, commit: entryId },
  'vote-request': { kind: KIND, term: number, last: entryId, commit: entryId, isTransfer: boolean },
  'vote-reply': { kind: KIND, term: number, isGranted: boolean, commit: entryId },
  append: { kind: KIND, term: number, previous: entryId, entries, commit: number },
  'append-ack': { kind: KIND, term: number, match: number },
  'append-reject': { kind: KIND, term: number, rejected: number, hint: entryId },
  commit: { kind: KIND, term: number, commit: number },
  beat: { kind: KIND, term: number, commit: number, round: number },
  'beat-ack': { kind: KIND, term: number, round: number },
  'read-request': { kind: KIND, term: number, id: number },
  'read-reply': { kind: KIND, term: number, id: number, index: optional(number) },
  'timeout-now': { kind: KIND, term: number },
  'install-snapshot': { kind: KIND, term: number, snapshot },
  'term-notice': { kind: KIND, term: number },
});

export const ENVELOPE: Writer<Envelope> = record<Envelope>({ from: replica, to: replica, message });

export const HISTORY: Writer<History> = record<History>({
  committed: entries,
  committers: list(unordered(voterSet)),
  committedIn: list(number),
  leaders: unordered(pair(number, replica)),
  votes: (cast, words) => {
    const each = Array.from(cast, ([key, to]): readonly [number, number, ReplicaId] => {
      const [term = '', voter = ''] = key.split(':');
      return [Number(term), words.names[Number(voter)] ?? Number(voter), to];
    });
    unordered<readonly [number, number, ReplicaId]>(([term, voter, to], own) => {
      own.out.push(term, voter);
      replica(to, own);
    })(each, words);
  },
});

/** What the invariants of the group read of a replica (group-invariants.ts), and of what was ever committed. */
export const SEEN_REPLICA: Writer<Replica> = (value, words) => {
  replica(value.id, words);
  disk(value.disk, words);
  optional<RaftState>((up, own) => {
    entryId(up.log.base, own);
    entries(up.log.runs.flat(), own);
    number(up.commit, own);
    membership(up.membership, own);
    number(up.hardState.term, own);
    boolean(up.role.kind === 'leader', own);
  })(value.state, words);
};

export const SEEN_HISTORY: Writer<History> = ({ committed, committers, committedIn }, words) => {
  entries(committed, words);
  list<History['committers'][number]>(unordered(voterSet))(committers, words);
  list(number)(committedIn, words);
};
