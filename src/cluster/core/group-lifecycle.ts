/**
 * Tracks which groups are on this node, and which of them are open. An opened group starts with the entries of the log
 * after its applied state, and replays them once they are known to be committed.
 *
 *   (catalog) --> awaited --> dormant --> open --> closed (catalog: deleted, or held elsewhere)
 *                               ^  v
 *                             withdrawn
 *
 * An awaited group has no rows in the store yet (C17). A dormant group is an entry in a map; the first request or
 * message opens it. The rows of a withdrawn group are being rebuilt, or its history is damaged, so nothing opens it
 * (C43). A group with a single
 * member campaigns at once; one with other members is opened as soon as it is known, and waits for a leader. A closed
 * group is forgotten: its requests are refused, its rows are deleted, and its log is ended (C4).
 *
 *   C9  The membership of a group is written with the entry that changes it and, once applied, in the applied row; a
 *       group that is opened starts with its last written membership.
 */
import {
  assert,
  CATALOG_GROUP,
  caught,
  type DatabaseError,
  type GroupId,
  type NodeId,
  nodeOf,
  type ReplicaId,
  replicaOf,
  type Term,
  toLogIndex,
  toReplicaId,
  toTerm,
} from '#base';
import { isHistoryDamage } from '#kv';
import {
  type Config,
  type Entry,
  type EntryId,
  entriesOf,
  type HardState,
  ORIGIN,
  openReplica,
  REPLICATION,
} from '#raft';
import type { RecoveredGroup } from '#storage';
import { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { AppliedTail } from '../group/remote-members.ts';
import type { Damage } from '../link.ts';
import type { AppliedMark, CatalogMachine, DurableMark, Machine } from '../machine.ts';
import { ownReplica } from '../node.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import { beingRecovered, CATALOG_TITLE, noSuchDatabase, notHere, type Title, titleOf, withdrawn } from '../refusals.ts';
import { membersIn } from '../state-transfer.ts';

export interface LifecyclePorts extends GroupPorts {
  readonly isLearner?: boolean;
  readonly seed: () => number;
  /** A group was opened, and has no leader yet. Its log had these applied entries after this index. */
  readonly opened: (group: Group, applied: AppliedTail) => void;
  /** A dormant group cannot be opened, because its history is damaged: it must be withdrawn. */
  readonly unopenable: (group: GroupId, failure: DatabaseError) => void;
}

/** The log of a group on this node, committed or not. */
export interface KeptLog {
  /** The highest term that the replica has seen. */
  readonly term: Term;
  /** The entry before the first one in the log. */
  readonly base: EntryId;
  readonly entries: readonly Entry[];
}

export class Lifecycle {
  readonly #ports: LifecyclePorts;
  /** Logs of groups that are not open yet. */
  readonly #recovered: Map<GroupId, RecoveredGroup>;
  /** Groups that are not open, with the local replica. */
  readonly #dormant = new Map<GroupId, ReplicaId>();
  /** Groups assigned to this node that have no rows in the store yet. */
  readonly #awaited = new Map<GroupId, Binding>();
  readonly #open = new Map<GroupId, Group>();
  /** Dormant groups whose rows are not whole, or whose histories are damaged. */
  readonly #withdrawn = new Set<GroupId>();
  /** Damaged histories, also of closed replicas from which others are made. */
  readonly #damages = new Map<GroupId, Damage>();
  /** Shared by thousands of groups, because most replicas of a node have the same copy number. */
  readonly #configs = new Map<ReplicaId, Config>();

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
    // Every node always has a replica of the catalog.
    return this.#openWith(CATALOG_GROUP, replicaOf(this.#ports.node), machine);
  }

  /** Records the group of a database; if it belongs on this node, `arrive` follows when its rows are there. */
  await(binding: Binding): void {
    const { group: id } = binding;
    assert(!this.isHere(id), 'A group that is here is not awaited', id);
    if (this.own(binding) === undefined) this.#awaited.delete(id);
    else this.#awaited.set(id, binding);
  }

  /** The first rows of an awaited group are in the store. Returns false when that replica is no longer awaited. */
  arrive(binding: Binding): boolean {
    const { group: id } = binding;
    const own = this.own(binding);
    const awaited = this.#awaited.get(id);
    if (own === undefined || awaited === undefined || this.own(awaited) !== own) return false;
    this.#awaited.delete(id);
    this.#damages.delete(id);
    this.#dormant.set(id, own);
    return true;
  }

  get awaited(): readonly Binding[] {
    return [...this.#awaited.values()];
  }

  awaitedOf(id: GroupId): Binding | undefined {
    return this.#awaited.get(id);
  }

  /** The replica of the group on this node, including an awaited one. */
  replicaOf(id: GroupId): ReplicaId | undefined {
    const awaited = this.#awaited.get(id);
    return this.#open.get(id)?.self ?? this.#dormant.get(id) ?? (awaited && this.own(awaited));
  }

  /** The replica of this node among those of a database. */
  own(binding: Binding): ReplicaId | undefined {
    const { node, isLearner = false } = this.#ports;
    return ownReplica({ node, isLearner }, binding);
  }

  /** Returns whether other nodes should have replicas of the database, or have one. */
  isShared({ replicas }: Binding): boolean {
    const isMember = ({ isLearner, state }: RegisteredNode): boolean => isLearner && state !== 'removed';
    return replicas.length > 1 || this.#ports.catalog().nodes().some(isMember);
  }

  /** The other nodes among them. */
  nodesOf(replicas: readonly ReplicaId[]): readonly NodeId[] {
    return replicas.map(nodeOf).filter((node) => node !== this.#ports.node);
  }

  /** Returns whether this node has a replica of the group. */
  isHere(id: GroupId): boolean {
    return this.#open.has(id) || this.#dormant.has(id);
  }

  /** Reason why a group is not on this node. */
  absence(id: GroupId): DatabaseError {
    const binding = this.#ports.catalog().bindingOf(id);
    const title = titleOf(binding?.name);
    if (binding === undefined) return noSuchDatabase(title);
    const nodes = this.nodesOf(binding.replicas);
    const damage = this.#damages.get(id) ?? this.#damages.get(binding.recovery?.group ?? id);
    if (this.#withdrawn.has(id) || damage !== undefined) return withdrawn(title, { group: id, nodes }, damage);
    return nodes.length === 0 ? beingRecovered(title) : notHere(title, { group: id, nodes });
  }

  /** Name of the group for clients. */
  titleOf(id: GroupId): Title {
    return id === CATALOG_GROUP ? CATALOG_TITLE : titleOf(this.#ports.catalog().bindingOf(id)?.name);
  }

  /** Returns whether the log has records of a group that was neither opened nor removed since the start. */
  isUntouched(id: GroupId): boolean {
    return this.#recovered.has(id);
  }

  /** The log of a group that is not open. */
  recovered(id: GroupId): RecoveredGroup | undefined {
    return this.#recovered.get(id);
  }

  /** The remaining log of a group; undefined when the log has no needed records of it. */
  logOf(id: GroupId): KeptLog | undefined {
    const open = this.#open.get(id);
    if (open !== undefined) {
      const { hardState, log } = open.raft;
      return { term: hardState.term, base: log.base, entries: entriesOf(log) };
    }
    const recovered = this.#recovered.get(id);
    return recovered && keptLog(recovered);
  }

  /** The log of a group that is not open was started. */
  found(log: RecoveredGroup): void {
    this.#recovered.set(log.group, log);
  }

  /**
   * Ends the log of a group without a local replica; returns whether it had not ended before. A later replica finds
   * nothing of it.
   */
  endLog(id: GroupId): boolean {
    return this.#recovered.delete(id);
  }

  /** The log of a group that is not open begins after its state. */
  restart(id: GroupId, checkpoint: DurableMark): void {
    const recovered = this.#recovered.get(id);
    assert(recovered !== undefined, 'A replica that installs a state has promised to follow its leader', id);
    this.#recovered.set(id, { ...recovered, checkpoint, entries: [] });
  }

  /** The rows of a dormant group are rebuilt: it cannot be opened meanwhile. Of others there is nothing to withdraw. */
  withdraw(id: GroupId): void {
    assert(!this.#open.has(id), 'A group is not open while its rows are rebuilt', id);
    if (this.#dormant.has(id)) this.#withdrawn.add(id);
  }

  /** They cannot be rebuilt. */
  noteDamage(id: GroupId, damage: Damage): void {
    this.#damages.set(id, damage);
  }

  /** Its rows are whole. Returns false when it was removed meanwhile. */
  restore(id: GroupId): boolean {
    return this.#withdrawn.delete(id);
  }

  /** Returns whether the rows of a replica that is still on this node are being rebuilt. */
  isWithdrawn(id: GroupId): boolean {
    return this.#withdrawn.has(id);
  }

  /** Returns the group, opened if it was dormant; undefined when it is withdrawn or not on this node. */
  touch(id: GroupId): Group | undefined {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const own = this.#dormant.get(id);
    if (own === undefined || this.#withdrawn.has(id)) return undefined;
    const machine = this.#machineOf(id);
    if (machine === undefined) return undefined;
    this.#dormant.delete(id);
    return this.#openWith(id, own, machine);
  }

  /**
   * Removes a replica: refuses waiting requests, and requests that are entries with their own error. Returns its group
   * if it was open; it must not be stepped any more.
   */
  remove(id: GroupId, error: DatabaseError, ofEntries: DatabaseError | undefined = error): Group | undefined {
    const group = this.#open.get(id);
    this.#awaited.delete(id);
    this.#dormant.delete(id);
    this.#withdrawn.delete(id);
    this.#open.delete(id);
    this.#recovered.delete(id);
    if (group === undefined) return undefined;
    group.close();
    const waiting = group.proposals.takeWaiting().map(({ proposal }) => proposal.token);
    this.#ports.reporter.refuse([...waiting, ...group.reads.abandon()], error);
    this.#ports.reporter.refuse(group.proposals.abandon(), ofEntries);
    return group;
  }

  /** Undefined when it needs a damaged part of its history. */
  #machineOf(id: GroupId): Machine | undefined {
    const { machines, kv, unopenable } = this.#ports;
    const machine = caught(
      () => machines.openDatabase(kv, id),
      (failure) => {
        if (!isHistoryDamage(failure)) throw failure;
        unopenable(id, failure);
        return undefined;
      },
    );
    assert(machine !== undefined || this.#withdrawn.has(id), 'A database of the catalog has its applied row', id);
    return machine;
  }

  #openWith(id: GroupId, self: ReplicaId, machine: Machine): Group {
    const { monotonicMs, seed, step, opened } = this.#ports;
    const { hardState, entries, tail } = inLog(this.#recovered.get(id), machine.applied);
    this.#recovered.delete(id);
    const base = { index: machine.applied.index, term: machine.applied.term };
    const clock = { nowMs: monotonicMs(), seed: seed() };
    const { membership, index: membershipIndex } = membersIn(machine.applied.group);
    const raft = openReplica(this.#configOf(self), membership, { hardState, base, entries, membershipIndex }, clock);
    const { waits, memory } = this.#ports;
    const group = new Group({ id, title: this.titleOf(id), waits, waiting: memory.waiting }, raft, machine);
    this.#open.set(id, group);
    opened(group, tail);
    // There is no other voter, so it need not wait for the election timeout.
    if (group.isAlone) step(group, { kind: 'campaign' });
    return group;
  }

  #configOf(self: ReplicaId): Config {
    const known = this.#configs.get(self);
    if (known !== undefined) return known;
    const { uncommittedBytesMax, pendingReadsMax, retainedBytesMax, appendBytesMax, ...limits } = this.#ports.limits;
    const { electionWindowMs, electionJitterMs } = limits;
    const replication = { ...REPLICATION, retainedBytesMax, appendBytesMax };
    const windows = { electionWindowMs, electionJitterMs };
    const config = { self, uncommittedBytesMax, pendingReadsMax, ...windows, replication };
    this.#configs.set(self, config);
    return config;
  }
}

/** The log of a group that is not open. */
export function keptLog({ hardState, checkpoint, entries }: RecoveredGroup): KeptLog {
  return { term: hardState.term, base: checkpoint, entries };
}

/** The part of the log after the applied state, from which a replica continues. */
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
