/**
 * Creates and removes replicas on this node, according to the catalog.
 *
 * ```
 *   none ── placed here ──> its first rows, in the batch of the entry ──> a group, opened on first use
 *      ^                                                                  │  deleted, or moved away
 *      │                                                                  v
 *   none <── rows and mark deleted <── end of the log durable <── trash mark, in the batch of the entry
 * ```
 * A node may have replicas of a group one after the other; each has another replica id (B5), but the same keys in store
 * and log. So a replica starts only when nothing of the previous one is left: its log has ended, durably, and its rows
 * and then its mark are gone. Until then the new replica waits (C17). After a crash there is either the mark, and the
 * next start first deletes what it marks, or nothing, and the next start begins the replica.
 *
 *   C17 A replica starts with nothing of an earlier replica of its group on this node, in the store or in the log; and
 *       the deletion of the earlier one does not touch it.
 */
import type { GroupId } from '#base';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding } from '../outcome.ts';
import type { Moves } from '../placement/moves.ts';
import { noSuchDatabase, notHere, outcomeUnknown, titleOf } from '../refusals.ts';
import { markOf } from './crash-recovery.ts';
import { Rebuilds, type RebuildsPorts } from './rebuilds.ts';
import { RecoveredCopies, type RecoveredCopiesPorts } from './recovered-copies.ts';
import { RowWork, type RowWorkPorts } from './row-work.ts';

type RowPorts = RecoveredCopiesPorts & RebuildsPorts & RowWorkPorts;

export interface HostingPorts extends Omit<RowPorts, 'isWithdrawn' | 'isOrigin' | 'mayWrite' | 'next'> {
  readonly moves: Moves;
}

/** Changes of the catalog about a database. */
type DatabaseChange = Extract<CatalogChange, { readonly binding: Binding }>;

function isOfDatabase(change: CatalogChange): change is DatabaseChange {
  return 'binding' in change;
}

export class Hosting {
  readonly #ports: HostingPorts;

  readonly recoveries: RecoveredCopies;
  readonly rebuilds: Rebuilds;
  readonly #work: RowWork;

  constructor(ports: HostingPorts) {
    this.#ports = ports;
    const mayWrite = (): boolean => this.#work.mayWrite;
    const isWithdrawn = (group: GroupId): boolean => this.rebuilds.has(group);
    this.recoveries = new RecoveredCopies({ ...ports, mayWrite, isWithdrawn });
    this.rebuilds = new Rebuilds({ ...ports, mayWrite, isOrigin: (group) => this.recoveries.isOrigin(group) });
    this.#work = new RowWork({ ...ports, next: () => this.recoveries.next() ?? this.rebuilds.next() });
  }

  /** Adds the effects of a catalog change to the turn that applies it. */
  change(change: CatalogChange, turn: ApplyTurn): void {
    if (!isOfDatabase(change)) return;
    const { binding } = change;
    const { lifecycle } = this.#ports;
    const before = lifecycle.replicaOf(binding.group);
    const after = change.kind === 'deleted' ? undefined : lifecycle.own(binding);
    if (before !== undefined && before !== after) this.#end(change, turn);
    if (change.kind !== 'deleted' && (after === undefined || before !== after)) this.#begin(binding, turn);
  }

  /** The batch of the turn is in the store. */
  written({ ended, begun }: ApplyTurn): void {
    const { feed, trash, limits, monotonicMs, lifecycle, replication } = this.#ports;
    for (const group of ended) feed.tombstone(group, () => trash.add(group, monotonicMs() + limits.trashDelayMs));
    for (const binding of begun) if (lifecycle.arrive(binding)) replication.begin(binding);
    this.#work.advance();
  }

  /** The store is repaired, and withdrawals are durable. */
  start(): void {
    this.#work.start();
  }

  /** Continues work that waited for the disk or for other work. */
  advance(): void {
    this.#work.advance();
    this.rebuilds.tend();
  }

  /** Stops after the current slice; the rest is done after the next start. */
  close(): void {
    this.#work.close();
  }

  /** After `close`, resolves when nothing is written any more. */
  async settled(): Promise<void> {
    await this.#work.settled();
  }

  /** Registers a database that an earlier process left; its replica may still have to start. */
  admit(binding: Binding, isLogged: boolean): void {
    const { kv, machines, lifecycle, trash } = this.#ports;
    const { group, recovery } = binding;
    const isMade = this.recoveries.isMadeHere(binding);
    const hasOwn = (): boolean => isLogged || binding.placement === 0 || markOf(machines, kv, group) !== undefined;
    const hasRows = isMade ? this.recoveries.isComplete(binding, isLogged) : hasOwn();
    if (isMade && !hasRows) this.recoveries.keepOrigin(binding, recovery && lifecycle.logOf(recovery.group));
    lifecycle.await(binding);
    if (lifecycle.own(binding) !== undefined && hasRows && !trash.has(group)) lifecycle.arrive(binding);
  }

  /** Starts all replicas that need not wait. */
  async beginAll(): Promise<void> {
    for (const { group } of this.#ports.lifecycle.awaited) if (!this.#ports.trash.has(group)) await this.cleared(group);
  }

  /** Nothing of an earlier replica is left: the waiting one, if any, starts after its first rows are written. */
  async cleared(group: GroupId): Promise<void> {
    const { kv, machines, lifecycle, replication } = this.#ports;
    const binding = lifecycle.awaitedOf(group);
    if (binding === undefined || this.recoveries.isMadeHere(binding)) return;
    const batch = kv.batch();
    machines.createDatabase(kv, binding).flushInto(batch);
    await kv.write(batch);
    if (lifecycle.arrive(binding)) replication.begin(binding);
  }

  #begin(binding: Binding, turn: ApplyTurn): void {
    const { kv, machines, lifecycle, trash } = this.#ports;
    lifecycle.await(binding);
    const isLater = trash.has(binding.group) || this.recoveries.isMadeHere(binding);
    if (lifecycle.own(binding) === undefined || isLater) return;
    machines.createDatabase(kv, binding).flushInto(turn.batch);
    turn.begun.push(binding);
  }

  #end({ kind, binding }: DatabaseChange, turn: ApplyTurn): void {
    const { lifecycle, trash, closed, catalog } = this.#ports;
    const { group, replicas } = binding;
    const title = titleOf(binding.name);
    const named = kind === 'deleted' ? catalog().lookup(binding.name) : undefined;
    const next = named?.recovery?.group === group ? named : undefined;
    if (next !== undefined && lifecycle.isHere(group) && this.recoveries.isMadeHere(next)) {
      this.recoveries.keepOrigin(next, lifecycle.logOf(group));
    } else {
      trash.mark(turn.batch, group);
      turn.ended.push(group);
    }
    this.recoveries.giveUp(binding, turn);
    const open =
      kind === 'deleted'
        ? lifecycle.remove(group, noSuchDatabase(title), next === undefined ? undefined : outcomeUnknown(title))
        : lifecycle.remove(group, notHere(title, { group, nodes: lifecycle.nodesOf(replicas) }), outcomeUnknown(title));
    if (open !== undefined) closed(open);
  }
}
