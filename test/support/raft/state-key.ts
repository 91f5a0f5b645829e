/**
 * A world of replicas as 64 bits: the same for two worlds that nothing can tell apart from here on, and for two that
 * only differ in who is who.
 *
 * Complete by construction: each type has a total schema (fields.ts), which writes or excuses every field. The words of
 * each replica, each message and the history are hashed on their own, and the sums of the hashes are what is kept: the
 * network is a set, and a replica's words begin with its name. Parts that a move left alone are hashed once.
 *
 * Symmetry: the hash is the least one among those under all given permutations of the replicas. Two worlds that are the
 * same under one of them thus share it. Whoever asks must give a group of permutations under which the group behaves
 * alike (search.ts says which, and why).
 *
 * A false merge: two of n different worlds share 64 bits by chance with a probability of about n² / 2^65, which is
 * 3 in 10,000 for a hundred million worlds (with k permutations each world draws k times: k times as likely).
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
  type Words,
  type Writer,
} from './fields.ts';
import type { Disk, Envelope, History, Machine, Replica, World } from './world.ts';

/** Where each replica goes: the new name of replica n stands at n. */
export type Permutation = readonly number[];

/** Two words of 32 bits. */
export interface Key {
  readonly high: number;
  readonly low: number;
}

/** Hashes of what is immutable, under each permutation, by the object itself: two words each. */
type Hashes = WeakMap<object, Uint32Array>;

const ALIKE_MAX = 2 ** 20;

/** Keys of the worlds of one search. */
export class Keys {
  readonly #permutations: readonly Permutation[];
  readonly #known: Hashes = new WeakMap();
  readonly #alike = new Map<number, Uint32Array>();

  constructor(permutations: readonly Permutation[]) {
    this.#permutations = permutations;
  }

  /** `rest` is what the search itself keeps beside the world. */
  of(world: World, rest: readonly number[]): Key {
    const count = this.#permutations.length;
    const sums = new Uint32Array(2 * count);
    add(sums, this.#hash(world.history, HISTORY));
    for (const each of world.replicas.values()) add(sums, this.#hash(each, REPLICA));
    for (const each of world.network) add(sums, this.#hash(each, ENVELOPE));
    const own = new Uint32Array(2);
    hashInto(own, 0, [world.nowMs, ...rest]);
    let least = 0;
    for (let at = 1; at < count; at += 1) if (isLess(sums, at, least)) least = at;
    // Mixed once more, so that neighbouring sums do not become neighbouring keys.
    const mixed = new Uint32Array(2);
    hashInto(mixed, 0, [sums[2 * least] ?? 0, sums[2 * least + 1] ?? 0, own[0] ?? 0, own[1] ?? 0]);
    return { high: mixed[0] ?? 0, low: mixed[1] ?? 0 };
  }

  /** One message under the first permutation: equal for equal messages. */
  ofEnvelope(envelope: Envelope): string {
    const hashes = this.#hash(envelope, ENVELOPE);
    return `${hashes[0]}.${hashes[1]}`;
  }

  #hash<T extends object>(value: T, write: Writer<T>): Uint32Array {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const hashes = this.#hashAll(value, write);
    this.#known.set(value, hashes);
    return hashes;
  }

  /** Many replicas and messages of a search are alike: under the other permutations each is hashed once. */
  #hashAll<T extends object>(value: T, write: Writer<T>): Uint32Array {
    const hashes = new Uint32Array(2 * this.#permutations.length);
    for (const [at, names] of this.#permutations.entries()) {
      const words: Words = { names, out: [] };
      write(value, words);
      hashInto(hashes, at, words.out);
      if (at > 0) continue;
      const alike = this.#alike.get(sumOf(hashes));
      if (alike !== undefined && alike[0] === hashes[0] && alike[1] === hashes[1]) return alike;
    }
    if (this.#alike.size >= ALIKE_MAX) this.#alike.clear();
    this.#alike.set(sumOf(hashes), hashes);
    return hashes;
  }
}

function sumOf(first: Uint32Array): number {
  return (first[0] ?? 0) * 2 ** 21 + ((first[1] ?? 0) >>> 11);
}

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

const REPLICA: Writer<Replica> = record<Replica>({
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

const ENVELOPE: Writer<Envelope> = record<Envelope>({ from: replica, to: replica, message });

const HISTORY: Writer<History> = record<History>({
  committed: entries,
  committers: list(unordered(voterSet)),
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

function add(sums: Uint32Array, hashes: Uint32Array): void {
  for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] ?? 0) + (hashes[at] ?? 0);
}

function isLess(sums: Uint32Array, one: number, other: number): boolean {
  const high = (sums[2 * one] ?? 0) - (sums[2 * other] ?? 0);
  return high === 0 ? (sums[2 * one + 1] ?? 0) < (sums[2 * other + 1] ?? 0) : high < 0;
}

/** Two lanes of the 32-bit rounds of MurmurHash3, each of which takes the other in, to the two words at `at`. */
function hashInto(hashes: Uint32Array, at: number, words: readonly number[]): void {
  let one = 0x9747b28c;
  let other = 0x2f6c3a1d;
  for (const word of words) {
    one ^= Math.imul(turn(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);
    one = Math.imul(turn(one, 13) + other, 5) + 0x561ccd1b;
    other ^= Math.imul(turn(Math.imul(word, 0x38b34ae5), 17), 0xa1e38b93);
    other = Math.imul(turn(other, 16) + one, 5) + 0x0bcaa747;
  }
  one = finish(one ^ words.length);
  other = finish((other ^ words.length) + one);
  hashes[2 * at] = one + other;
  hashes[2 * at + 1] = other;
}

function turn(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

function finish(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
