/**
 * Which groups are on this node, and which of them are open.
 *
 *   (catalog: created) --> dormant --> open --> closed (catalog: deleted)
 *
 * A dormant group is a number in a map; it is opened by the first request or message that touches it. One that is alone
 * asks for leadership at once; one with other members is opened as soon as it is known, and waits for a leader. A closed group is forgotten: its requests are refused, its rows are trash, its log is ended (C4).
 *
 *   C9  Who belongs to a group is written with the entry that says so and, once that is applied, in the applied row; a
 *       group that is opened begins with what it held last.
 */
import {
  assert,
  CATALOG_GROUP,
  type DatabaseError,
  type GroupId,
  type NodeId,
  nodeOf,
  type ReplicaId,
  replicaOf,
  toLogIndex,
  toReplicaId,
  toTerm,
} from '#base';
import type { KvBatch, KvReader } from '#kv';
import {
  type Entry,
  type EntryId,
  type HardState,
  type Input,
  membershipOf,
  ORIGIN,
  openReplica,
  REPLICATION,
} from '#raft';
import type { RecoveredGroup } from '#storage';
import { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { AppliedMark, CatalogMachine, DurableMark, Machine, Machines } from './machine.ts';
import type { Binding } from './outcome.ts';
import { noSuchGroup, notHere } from './refusals.ts';
import type { Reporter } from './reporter.ts';

export interface LifecyclePorts {
  readonly node: NodeId;
  readonly kv: KvReader;
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly reporter: Reporter;
  readonly monotonicMs: () => number;
  readonly seed: () => number;
  readonly step: (group: Group, input: Input) => void;
  /** A group was opened, and has no leader yet. Its log held these entries that are applied, behind this one. */
  readonly opened: (group: Group, applied: AppliedTail) => void;
}

/** What the log still held of what is applied. */
export interface AppliedTail {
  readonly base: EntryId;
  readonly entries: readonly Entry[];
}

export class Lifecycle {
  readonly #ports: LifecyclePorts;
  /** What the log holds of groups that are not open yet. */
  readonly #recovered: Map<GroupId, RecoveredGroup>;
  /** Not open, and the replica that this node holds. */
  readonly #dormant = new Map<GroupId, ReplicaId>();
  /** Databases of the catalog that other nodes hold, and this one does not. */
  readonly #elsewhere = new Map<GroupId, readonly NodeId[]>();
  readonly #open = new Map<GroupId, Group>();

  constructor(ports: LifecyclePorts, recovered: ReadonlyMap<GroupId, RecoveredGroup>) {
    this.#ports = ports;
    this.#recovered = new Map(recovered);
  }

  get openCount(): number {
    return this.#open.size;
  }

  get openGroups(): Iterable<Group> {
    return this.#open.values();
  }

  /** The group, if it is open. */
  find(id: GroupId): Group | undefined {
    return this.#open.get(id);
  }

  openCatalog(machine: CatalogMachine): Group {
    // Every node holds the catalog, once and for all its life.
    return this.#openWith(CATALOG_GROUP, replicaOf(this.#ports.node), machine);
  }

  /** Knows a database's group from here on, without opening it. */
  admit({ group: id, replicas }: Binding): void {
    assert(!this.isKnown(id), 'A group is admitted once', id);
    const own = this.#own(replicas);
    if (own === undefined) this.#elsewhere.set(id, replicas.map(nodeOf));
    else this.#dormant.set(id, own);
  }

  /** Whether the catalog has the group, on whichever nodes. */
  isKnown(id: GroupId): boolean {
    return this.isHere(id) || this.#elsewhere.has(id);
  }

  /** Whether this node holds a replica of the group. */
  isHere(id: GroupId): boolean {
    return this.#open.has(id) || this.#dormant.has(id);
  }

  /** Why a group is not on this node. */
  absence(id: GroupId): DatabaseError {
    const nodes = this.#elsewhere.get(id);
    return nodes === undefined ? noSuchGroup(id) : notHere(id, nodes);
  }

  /** Whether the log holds something of a group that was neither opened nor removed since the start. */
  isUntouched(id: GroupId): boolean {
    return this.#recovered.has(id);
  }

  /** The log of a group that is not open begins behind its state. */
  restart(id: GroupId, checkpoint: DurableMark): void {
    const recovered = this.#recovered.get(id);
    assert(recovered !== undefined, 'Whoever takes a state over has promised to follow its leader', id);
    this.#recovered.set(id, { ...recovered, checkpoint, entries: [] });
  }

  /** The group, opened if it was dormant; undefined when it is not on this node. */
  touch(id: GroupId): Group | undefined {
    const open = this.#open.get(id);
    const own = this.#dormant.get(id);
    if (open !== undefined || own === undefined) return open;
    const machine = this.#ports.machines.openDatabase(this.#ports.kv, id);
    assert(machine !== undefined, 'A database of the catalog has its applied row', id);
    this.#dormant.delete(id);
    return this.#openWith(id, own, machine);
  }

  /** Puts the rows of a new database into the batch that creates it, and knows its group. */
  create(binding: Binding, batch: KvBatch): void {
    this.admit(binding);
    if (!this.isHere(binding.group)) return;
    this.#ports.machines.createDatabase(this.#ports.kv, binding, membershipOf(binding.replicas)).flushInto(batch);
  }

  /** Forgets a group: refuses whoever waits for it. Returns it if it was open; it is stepped no more. */
  remove(id: GroupId): Group | undefined {
    const group = this.#open.get(id);
    this.#dormant.delete(id);
    this.#elsewhere.delete(id);
    this.#open.delete(id);
    this.#recovered.delete(id);
    if (group === undefined) return undefined;
    group.close();
    this.#ports.reporter.refuse([...group.proposals.abandon(), ...group.reads.abandon()], noSuchGroup(id));
    return group;
  }

  /** The replica of this node among these. */
  #own(replicas: readonly ReplicaId[]): ReplicaId | undefined {
    return replicas.find((replica) => nodeOf(replica) === this.#ports.node);
  }

  #openWith(id: GroupId, self: ReplicaId, machine: Machine): Group {
    const { limits, monotonicMs, seed, step, opened } = this.#ports;
    const { uncommittedBytesMax, pendingReadsMax, electionWindowMs, electionJitterMs, retainedBytesMax } = limits;
    const replication = { ...REPLICATION, retainedBytesMax };
    const windows = { electionWindowMs, electionJitterMs };
    const config = { self, uncommittedBytesMax, pendingReadsMax, ...windows, replication };
    const { hardState, entries, tail } = inLog(this.#recovered.get(id), machine.applied);
    this.#recovered.delete(id);
    const base = { index: machine.applied.index, term: machine.applied.term };
    const clock = { nowMs: monotonicMs(), seed: seed() };
    const { membership, index: membershipIndex } = machine.members;
    const raft = openReplica(config, membership, { hardState, base, entries, membershipIndex }, clock);
    const group = new Group(id, raft, machine);
    this.#open.set(id, group);
    opened(group, tail);
    // Nobody else can lead: no need to wait for the election deadline.
    if (group.isAlone) step(group, { kind: 'campaign' });
    return group;
  }
}

/** What a replica goes on from: the log behind what is applied. */
function inLog(
  recovered: RecoveredGroup | undefined,
  applied: AppliedMark,
): { readonly hardState: HardState; readonly entries: readonly Entry[]; readonly tail: AppliedTail } {
  if (recovered === undefined) {
    assert(applied.index === 0, 'The log holds every group that has applied something', applied);
    return { hardState: { term: toTerm(0), vote: undefined }, entries: [], tail: { base: ORIGIN, entries: [] } };
  }
  const { hardState, checkpoint, entries } = recovered;
  const last = toLogIndex(entries.at(-1)?.index ?? checkpoint.index);
  assert(checkpoint.index <= applied.index, 'The store is not behind its checkpoint', [checkpoint, applied]);
  assert(applied.index <= last, 'The store is not ahead of the log', [applied, last]);
  const { term, vote } = hardState;
  return {
    hardState: { term, vote: vote === 0 ? undefined : toReplicaId(vote) },
    entries: entries.filter((entry) => entry.index > applied.index),
    tail: {
      base: { index: checkpoint.index, term: checkpoint.term },
      entries: entries.filter((entry) => entry.index <= applied.index),
    },
  };
}
