// A small group of replicas with disks, state machines and a network, as one immutable value: every function returns
// the next world. Data-driven tests, random schedules and the exhaustive search all use it.
//
// A replica may experience what a runtime may do: writes complete in order, entries are applied in order, unsynced data
// is lost, and it restarts from durable data. A message may be delivered, copied or dropped, in any order. Every step
// is checked by the invariants of #raft, and the history records all committed entries, elected leaders and votes.
import { assert, type LogIndex, type Term, toLogIndex, toTerm } from '#base';
import {
  type Config,
  type Effect,
  type Entry,
  type EntryId,
  type HardState,
  type Input,
  type LoadEntries,
  type Membership,
  type Message,
  ORIGIN,
  openReplica,
  type Persist,
  type RaftState,
  type ReplicaId,
  type Step,
  step,
} from '#raft';
import { checkRest } from './rest.ts';
import { checkState } from './state-invariants.ts';
import { checkStep } from './step-invariants.ts';

export type SendSnapshot = Extract<Effect, { readonly kind: 'send-snapshot' }>;
type Write = Persist | Extract<Effect, { readonly kind: 'install-snapshot' }>;

/** The last applied entry, and the membership at that time. */
export interface Machine {
  readonly last: EntryId;
  readonly membership: Membership;
}

export interface Disk {
  readonly hardState: HardState;
  /** The log contains the entries after this one. */
  readonly start: EntryId;
  readonly entries: readonly Entry[];
  /** The state machine after a restart. */
  readonly machine: Machine;
}

export interface Replica {
  readonly id: ReplicaId;
  readonly config: Config;
  /** Undefined while the replica is down. */
  readonly state: RaftState | undefined;
  readonly disk: Disk;
  readonly writing: readonly Write[];
  readonly asked: readonly (LoadEntries | SendSnapshot)[];
  readonly toApply: readonly Entry[];
  readonly machine: Machine;
  /** Number of starts, which is part of the seed. */
  readonly starts: number;
}

export interface Envelope {
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  readonly message: Message;
}

/** Facts that must stay true, even if all replicas forget them. */
export interface History {
  /** Entry n + 1 is at index n. */
  readonly committed: readonly Entry[];
  /** Memberships whose disks committed entry n + 1, at index n: one of those before and after the step. */
  readonly committers: readonly (readonly Membership['voters'][])[];
  /** Term of the leader that committed entry n + 1, at index n. */
  readonly committedIn: readonly Term[];
  readonly leaders: ReadonlyMap<Term, ReplicaId>;
  /** Votes that were sent, by term and voter. */
  readonly votes: ReadonlyMap<string, ReplicaId>;
}

export const NOTHING_YET: History = {
  committed: [],
  committers: [],
  committedIn: [],
  leaders: new Map(),
  votes: new Map(),
};

/** Core of the replicas: the production core, or one that is broken on purpose. */
export type Core = (state: RaftState, input: Input, nowMs: number) => Step;

export interface World {
  readonly core: Core;
  readonly nowMs: number;
  readonly replicas: ReadonlyMap<ReplicaId, Replica>;
  /** Messages that may arrive at any time, in any order. */
  readonly network: readonly Envelope[];
  /**
   * Messages that arrive before anything else happens, in this order; undefined: all sent messages go into `network`.
   */
  readonly due?: readonly Envelope[] | undefined;
  readonly history: History;
}

/** The next world, and the effects of its replicas. */
export interface Turn {
  readonly world: World;
  readonly events: readonly Happening[];
}

export interface Happening {
  readonly replica: ReplicaId;
  readonly effect: Effect;
}

export interface Beginning {
  readonly config: Config;
  readonly membership: Membership;
  readonly hardState?: HardState;
  readonly entries?: readonly Entry[];
}

export function worldOf(beginnings: readonly Beginning[], core: Core = step): World {
  const fresh: HardState = { term: toTerm(0), vote: undefined };
  const replicas = beginnings.map(({ config, membership, hardState = fresh, entries = [] }): Replica => {
    const machine = { last: ORIGIN, membership };
    const disk: Disk = { hardState, start: ORIGIN, entries, machine };
    const down = { state: undefined, writing: [], asked: [], toApply: [], starts: 0 };
    return opened({ id: config.self, config, disk, machine, ...down }, 0);
  });
  const byId = new Map(replicas.map((replica) => [replica.id, replica]));
  return { core, nowMs: 0, replicas: byId, network: [], history: NOTHING_YET };
}

export function replicaOf(world: World, id: ReplicaId): Replica {
  const replica = world.replicas.get(id);
  assert(replica !== undefined, 'The group has this replica', id);
  return replica;
}

export function stateOf(world: World, id: ReplicaId): RaftState {
  const { state } = replicaOf(world, id);
  assert(state !== undefined, 'The replica is up', id);
  return state;
}

/** Gives an input to a replica and carries out its effects. Has no effect on a replica that is down. */
export function give(world: World, id: ReplicaId, input: Input): Turn {
  const replica = replicaOf(world, id);
  if (replica.state === undefined) return { world, events: [] };
  const result = world.core(replica.state, input, world.nowMs);
  checkStep(replica.state, input, result);
  checkRest(replica.state, input, result, world.nowMs);
  const next = taken({ ...replica, state: result.state }, result.effects);
  const envelopes = result.effects.flatMap((effect): readonly Envelope[] =>
    effect.kind === 'send' ? [{ from: id, to: effect.to, message: effect.message }] : [],
  );
  return {
    world: {
      ...sent(world, envelopes),
      replicas: new Map(world.replicas).set(id, next),
      history: remembered(world.history, { before: replica.state, after: result.state }, result.effects),
    },
    events: result.effects.map((effect) => ({ replica: id, effect })),
  };
}

/** Delivers the message at `at`; with `keep`, a copy stays in the network. */
export function deliver(world: World, at: number, keep = false): Turn {
  const envelope = world.network[at];
  assert(envelope !== undefined, 'The message is on its way', at);
  const network = keep ? world.network : world.network.toSpliced(at, 1);
  const { from, to, message } = envelope;
  if (!world.replicas.has(to)) return { world: { ...world, network }, events: [] };
  return give({ ...world, network }, to, { kind: 'receive', from, message });
}

/** Delivers the first due message. */
export function deliverDue(world: World): Turn {
  const [envelope, ...due] = world.due ?? [];
  assert(envelope !== undefined, 'A message is due');
  const { from, to, message } = envelope;
  return give({ ...world, due }, to, { kind: 'receive', from, message });
}

/** Makes the first due message late: it may arrive at any time. */
export function delay(world: World): World {
  const [envelope, ...due] = world.due ?? [];
  assert(envelope !== undefined, 'A message is due');
  return { ...world, network: [...world.network, envelope], due };
}

export function drop(world: World, at: number): World {
  return { ...world, network: world.network.toSpliced(at, 1) };
}

/** Completes the oldest write. */
export function write(world: World, id: ReplicaId): Turn {
  const replica = replicaOf(world, id);
  const [oldest, ...writing] = replica.writing;
  if (oldest === undefined) return { world, events: [] };
  const disk = stored(replica.disk, oldest);
  if (oldest.kind === 'install-snapshot') {
    const { snapshot } = oldest;
    const installed: Replica = { ...replica, disk, writing, toApply: [], machine: snapshot };
    return give(withReplica(world, installed), id, { kind: 'snapshot-installed', snapshot });
  }
  const { term, vote, index, logTerm } = oldest;
  const written = withReplica(world, { ...replica, disk, writing });
  return give(written, id, { kind: 'persisted', term, vote, index, logTerm });
}

/** Applies the oldest entries that were handed out. */
export function apply(world: World, id: ReplicaId, count: number): Turn {
  const replica = replicaOf(world, id);
  const entries = replica.toApply.slice(0, count);
  const last = entries.at(-1);
  if (last === undefined) return { world, events: [] };
  const membership = entries.findLast((entry) => entry.membership !== undefined)?.membership;
  const machine = { last: idOf(last), membership: membership ?? replica.machine.membership };
  const applied = { ...replica, machine, toApply: replica.toApply.slice(count) };
  return give(withReplica(world, applied), id, { kind: 'applied', index: last.index });
}

/** Answers the oldest storage request: entries from disk, or the start of a snapshot of the applied state. */
export function answer(world: World, id: ReplicaId): Turn {
  const replica = replicaOf(world, id);
  const [oldest, ...asked] = replica.asked;
  if (oldest === undefined) return { world, events: [] };
  const rest = withReplica(world, { ...replica, asked });
  if (oldest.kind === 'load-entries') return give(rest, id, loaded(replica.disk, oldest));
  const { to, term } = oldest;
  const message: Message = { kind: 'install-snapshot', term, snapshot: replica.machine };
  const sending = sent(rest, [{ from: id, to, message }]);
  return give(sending, id, { kind: 'snapshot-sent', replica: to, index: replica.machine.last.index });
}

/** Ends the process; the first `torn` unfinished writes have reached the disk without being reported. */
export function crash(world: World, id: ReplicaId, torn: number): World {
  const replica = replicaOf(world, id);
  let { disk } = replica;
  for (const each of replica.writing.slice(0, torn)) disk = stored(disk, each);
  return withReplica(world, { ...replica, disk, state: undefined, writing: [], asked: [], toApply: [] });
}

export function start(world: World, id: ReplicaId): World {
  return withReplica(world, opened(replicaOf(world, id), world.nowMs));
}

/** Makes the applied state durable and removes entries up to `through` from the disk. */
export function compact(world: World, id: ReplicaId, through: LogIndex): World {
  const replica = replicaOf(world, id);
  const { machine, disk } = replica;
  const places = [disk.start, ...disk.entries];
  const last = places.findLast(({ index }) => index <= Math.min(through, machine.last.index)) ?? disk.start;
  const entries = disk.entries.filter(({ index }) => index > last.index);
  return withReplica(world, { ...replica, disk: { ...disk, start: idOf(last), entries, machine } });
}

export function withReplica(world: World, replica: Replica): World {
  return { ...world, replicas: new Map(world.replicas).set(replica.id, replica) };
}

function sent(world: World, envelopes: readonly Envelope[]): World {
  if (envelopes.length === 0) return world;
  if (world.due === undefined) return { ...world, network: [...world.network, ...envelopes] };
  return { ...world, due: [...world.due, ...envelopes] };
}

function idOf({ index, term }: EntryId): EntryId {
  return { index, term };
}

function opened(replica: Replica, nowMs: number): Replica {
  const { disk, config } = replica;
  const { machine } = disk;
  const entries = disk.entries.filter(({ index }) => index > machine.last.index);
  const recovered = { hardState: disk.hardState, base: machine.last, entries };
  const seed = replica.id * 1000 + replica.starts;
  const state = openReplica(config, machine.membership, recovered, { nowMs, seed });
  checkState(state);
  return { ...replica, state, machine, starts: replica.starts + 1 };
}

function taken(replica: Replica, effects: readonly Effect[]): Replica {
  let { writing, asked, toApply } = replica;
  for (const effect of effects) {
    if (effect.kind === 'persist' || effect.kind === 'install-snapshot') writing = [...writing, effect];
    if (effect.kind === 'load-entries' || effect.kind === 'send-snapshot') asked = [...asked, effect];
    if (effect.kind === 'apply') toApply = [...toApply, ...effect.entries];
  }
  return { ...replica, writing, asked, toApply };
}

function stored(disk: Disk, made: Write): Disk {
  if (made.kind === 'install-snapshot') {
    return { ...disk, start: made.snapshot.last, entries: [], machine: made.snapshot };
  }
  const { truncateFrom } = made;
  const kept = truncateFrom === undefined ? disk.entries : disk.entries.filter(({ index }) => index < truncateFrom);
  const entries = [...kept, ...made.entries];
  const last = kept.at(-1) ?? disk.start;
  const [first] = made.entries;
  assert(first === undefined || first.index === last.index + 1, 'The disk gets the log without gaps', [last, first]);
  return { ...disk, hardState: made.hardState ?? disk.hardState, entries };
}

function loaded(disk: Disk, { replica, from, to }: LoadEntries): Input {
  const { entries } = disk;
  const previous = [disk.start, ...entries].find(({ index }) => index === from - 1);
  const some = entries.filter(({ index }) => index >= from && index < to).slice(0, 2);
  const found = previous === undefined ? undefined : { previousTerm: previous.term, entries: some };
  return { kind: 'entries-loaded', replica, from, found };
}

function remembered(
  history: History,
  { before, after }: { readonly before: RaftState; readonly after: RaftState },
  effects: readonly Effect[],
): History {
  let { committed, committers, committedIn, leaders, votes } = history;
  const { term } = after.hardState;
  const { self } = after.config;
  if (after.commit > committed.length) {
    const added = after.log.runs.flat().filter(({ index }) => index > committed.length && index <= after.commit);
    committed = [...committed, ...added];
    committers = [...committers, ...added.map(() => [before.membership.voters, after.membership.voters])];
    committedIn = [...committedIn, ...added.map(() => term)];
    assert(committed.length === after.commit, 'What is committed is in the log of who says so', after.commit);
  }
  if (after.role.kind === 'leader' && before.role.kind !== 'leader') {
    const other = leaders.get(term);
    assert(other === undefined || other === self, 'R13: a term has one leader', [term, other, self]);
    leaders = new Map(leaders).set(term, self);
  }
  for (const effect of effects) {
    if (effect.kind === 'apply') for (const entry of effect.entries) checkApplied(committed, entry);
    if (effect.kind !== 'send' || effect.message.kind !== 'vote-reply' || !effect.message.isGranted) continue;
    const key = `${effect.message.term}:${self}`;
    const other = votes.get(key);
    assert(other === undefined || other === effect.to, 'R7: a replica votes once in a term', [key, other, effect.to]);
    if (other === undefined) votes = new Map(votes).set(key, effect.to);
  }
  const isSame = committed === history.committed && leaders === history.leaders && votes === history.votes;
  return isSame ? history : { committed, committers, committedIn, leaders, votes };
}

/** State machines must not apply different entries at the same index. */
function checkApplied(committed: readonly Entry[], entry: Entry): void {
  const known = committed[entry.index - 1];
  const isSame = known?.term === entry.term && String(known.payload) === String(entry.payload);
  assert(isSame, 'R1: what is applied is the same everywhere', [known, entry]);
}

/** An index that stands for all entries. */
export const EVERYTHING: LogIndex = toLogIndex(Number.MAX_SAFE_INTEGER);
