/**
 * Rebuilds the rows of databases from their histories, one after the other, while the node serves the others.
 *
 * ```
 *   dormant ── rows are incomplete or damaged ──> withdrawn: its history ends at the checkpoint, no applied row
 *     ── all rows rebuilt, durably ──> open: its log is applied from the checkpoint on
 *     ── its history is damaged ──> withdrawn until the next start, or until the other replicas replace it (C46)
 * ```
 * A missing applied row is the durable mark: a start after a crash withdraws the database again. Its log keeps every
 * entry after the checkpoint, because nothing else makes a later one. A closed replica from which another database is
 * made (recovered-copies.ts) is rebuilt in the same way, and is not opened.
 *
 *   C43 A replica without whole rows answers no reads and takes no part in votes or quorums. Nothing but the rebuild
 *       reads or writes its rows, and a removed replica is cleared when its rebuild has ended.
 *   C46 A replica whose history is damaged is given up while most replicas are others, on nodes that are not lost: the
 *       catalog places the database without this node, and the group removes the member by its own vote. The node may
 *       get a new replica, with another id, which votes when it has caught up. So no replica votes without entries that
 *       it has acknowledged.
 */
import type { DatabaseError, GroupId, ReplicaId, Revision } from '#base';
import { isFaultOfRow } from '#database';
import { NO_CHECKPOINT } from '#storage';
import type { GroupPorts } from '../group/group-ports.ts';
import type { Moves } from '../placement/moves.ts';
import type { LostRows } from './crash-recovery.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { LogFeed } from './log-feed.ts';
import type { RowTask } from './row-work.ts';
import type { Turns } from './turns.ts';

export interface RebuildsPorts extends GroupPorts {
  readonly lifecycle: Lifecycle;
  readonly moves: Pick<Moves, 'placeWithout'>;
  readonly feed: LogFeed;
  readonly turns: Pick<Turns, 'run' | 'keep' | 'until'>;
  readonly mayWrite: () => boolean;
  /** Returns whether a recovered database is made from the closed replica of this group. */
  readonly isOrigin: (group: GroupId) => boolean;
}

interface Withdrawn extends LostRows {
  /** The rows up to this position of the history are written. */
  indexed: number;
  /** The history is damaged. */
  hasFailed: boolean;
}

/** Databases whose rows are being rebuilt, and the bytes of their histories that are not indexed yet. */
export interface RebuildProgress {
  readonly groups: number;
  readonly bytes: number;
  /** Databases whose durable rows were missing or damaged, or whose history is damaged. */
  readonly damaged: number;
}

export class Rebuilds {
  readonly #ports: RebuildsPorts;
  readonly #withdrawn = new Map<GroupId, Withdrawn>();
  #current: Withdrawn | undefined;
  /** Replicas with damaged histories, with whole rows or without. */
  readonly #damaged = new Map<GroupId, ReplicaId>();
  #carryAtBytes = 0;
  #giveUpAtMs = 0;

  constructor(ports: RebuildsPorts) {
    this.#ports = ports;
  }

  get groups(): readonly GroupId[] {
    return [...this.#withdrawn.keys()];
  }

  get progress(): RebuildProgress {
    const all = [...this.#withdrawn.values()];
    const bytes = all.reduce((sum, { durable, indexed }) => sum + durable.history.end - indexed, 0);
    const damaged = all.filter(({ fault, hasFailed }) => hasFailed || fault !== undefined).length;
    return { groups: all.length, bytes, damaged };
  }

  /** Groups whose replicas here have damaged histories. */
  get givenUp(): Iterable<GroupId> {
    return this.#damaged.keys();
  }

  has(group: GroupId): boolean {
    return this.#withdrawn.has(group);
  }

  /** True while the rebuild of a removed replica has not stopped yet. */
  get isStopping(): boolean {
    return this.#current !== undefined && !this.#isWanted(this.#current);
  }

  /** Takes a group that is not open out of service. It stays so when the store is synced. */
  async withdraw(lost: LostRows): Promise<void> {
    const { kv, machines, lifecycle, reporter } = this.#ports;
    const { binding, durable, fault } = lost;
    const { group } = binding;
    const withdrawn = { ...lost, indexed: 0, hasFailed: false };
    lifecycle.withdraw(group);
    this.#withdrawn.set(group, withdrawn);
    reporter.noteHistory({ kind: 'rebuilding', group, fault });
    await machines.withdraw(kv, group, durable).catch((failure: unknown) => this.#fail(withdrawn, failure));
  }

  /** A dormant group cannot be opened, because its history is damaged. Its rows stay as they are. */
  abandon(group: GroupId, failure: DatabaseError): void {
    const { catalog, lifecycle } = this.#ports;
    const binding = catalog().bindingOf(group);
    if (binding === undefined) return;
    const { checkpoint: durable } = lifecycle.recovered(group) ?? { checkpoint: NO_CHECKPOINT };
    const withdrawn = { binding, durable, fault: undefined, indexed: 0, hasFailed: false };
    lifecycle.withdraw(group);
    this.#withdrawn.set(group, withdrawn);
    this.#fail(withdrawn, failure);
  }

  /** The next rebuild: that of the shortest history. */
  next(): RowTask | undefined {
    let next: Withdrawn | undefined;
    for (const each of this.#withdrawn.values()) {
      if (!this.#isWanted(each)) this.#withdrawn.delete(each.binding.group);
      else if (!each.hasFailed && each.durable.history.end < (next?.durable.history.end ?? Number.POSITIVE_INFINITY))
        next = each;
    }
    const found = next;
    return found && (() => this.#rebuild(found));
  }

  /** The history of a replica is damaged: others replace it, where there are enough of them (C46). */
  giveUp(group: GroupId): void {
    const replica = this.#ports.lifecycle.replicaOf(group);
    if (replica !== undefined) this.#damaged.set(group, replica);
  }

  /** Has damaged replicas replaced, and lets the log forget its older segments although they are still there. */
  tend(): void {
    const { feed, lifecycle, limits, monotonicMs, catalog, moves } = this.#ports;
    if (feed.appendedBytes >= this.#carryAtBytes) {
      for (const each of this.#withdrawn.values()) {
        const log = each.hasFailed && this.#isWanted(each) ? lifecycle.recovered(each.binding.group) : undefined;
        if (log !== undefined && log.entries.length > 0) feed.carry(log, limits.carriedBytesMax);
      }
      this.#carryAtBytes = feed.appendedBytes + limits.carryEveryBytes;
    }
    if (this.#damaged.size === 0 || monotonicMs() < this.#giveUpAtMs) return;
    for (const [group, replica] of this.#damaged) {
      const binding = catalog().bindingOf(group);
      if (lifecycle.replicaOf(group) !== replica) this.#damaged.delete(group);
      else if (binding !== undefined) moves.placeWithout(binding, replica);
    }
    this.#giveUpAtMs = monotonicMs() + limits.placementLookMs;
  }

  #isWanted({ binding: { group } }: Withdrawn): boolean {
    return this.#ports.lifecycle.isWithdrawn(group) || this.#ports.isOrigin(group);
  }

  async #rebuild(current: Withdrawn): Promise<(() => void) | undefined> {
    const { machines, mayWrite } = this.#ports;
    const { binding, durable } = current;
    const mayContinue = (indexed: number): boolean => {
      current.indexed = indexed;
      return mayWrite() && this.#isWanted(current);
    };
    this.#current = current;
    const rebuilt = machines.rebuild(this.#ports, binding, durable, mayContinue);
    const isDone = await rebuilt.catch((failure: unknown) => this.#fail(current, failure));
    this.#current = undefined;
    if (isDone) return () => this.#restore(current);
    return current.hasFailed ? () => undefined : undefined;
  }

  #fail(withdrawn: Withdrawn, failure: unknown): false {
    if (!isFaultOfRow(failure)) throw failure;
    const { lifecycle, reporter } = this.#ports;
    const { group } = withdrawn.binding;
    const damage = { revision: failure.details.unreadable };
    withdrawn.hasFailed = true;
    withdrawn.indexed = withdrawn.durable.history.end;
    this.#carryAtBytes = 0;
    this.giveUp(group);
    lifecycle.noteDamage(group, damage);
    reporter.noteHistory({ kind: 'damaged', group, fault: failure.message, ...damage });
    return false;
  }

  /** Opens the group, unless it would be dormant after a start. */
  #restore({ binding, durable }: Withdrawn): void {
    const { lifecycle, turns } = this.#ports;
    const { group: id } = binding;
    this.#withdrawn.delete(id);
    if (this.#ports.isOrigin(id)) this.#ports.reporter.noteHistory({ kind: 'rebuilt', group: id });
    if (!lifecycle.restore(id)) return;
    const isIdle = !lifecycle.isShared(binding) && (lifecycle.logOf(id)?.entries ?? []).length === 0;
    if (isIdle) this.#tell(id, durable.revision);
    else turns.keep(this.#serve(id));
  }

  /** A client may have seen a later revision, so the front waits until the log of a lone replica is applied. */
  async #serve(id: GroupId): Promise<void> {
    const { lifecycle, turns } = this.#ports;
    const group = lifecycle.touch(id);
    await turns.until(() => group?.isOpen !== true || group.isSettled);
    turns.run(() => group?.isOpen === true && this.#tell(id, group.written.revision));
  }

  #tell(group: GroupId, revision: Revision): void {
    this.#ports.reporter.wrote({ group, revision });
    this.#ports.reporter.noteHistory({ kind: 'rebuilt', group });
  }
}
