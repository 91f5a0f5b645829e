/**
 * Which copies this node holds: carries out what the catalog says of databases that come, move and go.
 *
 * ```
 *   no copy ── a copy is placed here ──> its first rows, in the batch of the entry ──> a group, opened by whoever touches it
 *      ^                                                                                    │  deleted, or the copy leaves
 *      │                                                                                    v
 *   cleared <── rows cleared, mark removed <── end of the log durable <── trash mark, in the batch of the entry
 * ```
 * A node may hold copies of a group one after the other; each has another replica id (B5), but their rows and records
 * stand in the same places. So one begins only when nothing of the one before it is left: its log has ended, durably,
 * and its rows and then its mark are gone. Until then the new copy waits (C17). A crash anywhere leaves the mark, and
 * the next start clears what it marks first; or no mark and nothing else, and the next start begins the copy.
 *
 *   C17 A copy begins with nothing of an earlier copy of its group on this node, in the store or in the log; and
 *       nothing that clears the earlier one touches it.
 */
import type { GroupId } from '#base';
import { membershipOf } from '#raft';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import type { Group } from '../group/group.ts';
import type { CatalogMachine } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding } from '../outcome.ts';
import { noSuchDatabase, notHere, outcomeUnknown, titleOf } from '../requests/refusals.ts';
import { RecoveredCopies, type RecoveredCopiesPorts } from '../rescue/recovered-copies.ts';
import type { Moves } from './moves.ts';

export interface HostingPorts extends RecoveredCopiesPorts {
  readonly catalog: () => CatalogMachine;
  readonly moves: Moves;
  /** A group was closed; it is stepped no more. */
  readonly closed: (group: Group) => void;
}

/** What says something of a database. */
type DatabaseChange = Extract<CatalogChange, { readonly binding: Binding }>;

function isOfDatabase(change: CatalogChange): change is DatabaseChange {
  return 'binding' in change;
}

export class Hosting {
  readonly #ports: HostingPorts;

  readonly recoveries: RecoveredCopies;

  constructor(ports: HostingPorts) {
    this.#ports = ports;
    this.recoveries = new RecoveredCopies(ports);
  }

  /** Puts what a change of the catalog means into the turn that applies it. */
  change(change: CatalogChange, turn: ApplyTurn): void {
    if (!isOfDatabase(change)) return;
    const { binding } = change;
    const { lifecycle, moves } = this.#ports;
    moves.change(change);
    const before = lifecycle.replicaOf(binding.group);
    const after = change.kind === 'deleted' ? undefined : lifecycle.own(binding);
    if (before !== undefined && before !== after) this.#end(change, turn);
    if (change.kind === 'deleted') lifecycle.forget(binding.group);
    else if (after === undefined || before !== after) this.#begin(binding, turn);
  }

  /** The turn is in the store. */
  written({ ended, begun }: ApplyTurn): void {
    const { feed, trash, limits, monotonicMs } = this.#ports;
    for (const group of ended) feed.tombstone(group, () => trash.add(group, monotonicMs() + limits.trashDelayMs));
    for (const binding of begun) if (this.#ports.lifecycle.arrive(binding)) this.#ports.begun(binding);
    this.recoveries.advance();
  }

  /** Knows a database that an earlier process has left, and whether its copy has yet to begin. */
  admit(binding: Binding, isLogged: boolean): void {
    const { kv, machines, lifecycle, trash } = this.#ports;
    const { group, recovery } = binding;
    const isMade = this.recoveries.isMadeHere(binding);
    const hasRows = (!isMade && (binding.placement === 0 || isLogged)) || machines.markOf(kv, group) !== undefined;
    if (isMade && !hasRows) this.recoveries.keepOrigin(binding, recovery && lifecycle.logOf(recovery.group));
    lifecycle.await(binding);
    if (lifecycle.own(binding) !== undefined && hasRows && !trash.has(group)) lifecycle.arrive(binding);
  }

  /** Begins the copies for which nothing stands in the way any more. */
  async beginAll(): Promise<void> {
    for (const { group } of this.#ports.lifecycle.awaited) if (!this.#ports.trash.has(group)) await this.cleared(group);
  }

  /**
   * Nothing of an earlier copy is left: the one that waits, if any, begins. Its first rows are durable before it does.
   */
  async cleared(group: GroupId): Promise<void> {
    const { kv, machines, lifecycle } = this.#ports;
    const binding = lifecycle.awaitedOf(group);
    if (binding === undefined || this.recoveries.isMadeHere(binding)) return;
    const batch = kv.batch();
    machines.createDatabase(kv, binding, membershipOf(binding.founders)).flushInto(batch);
    await kv.write(batch, { sync: true });
    if (lifecycle.arrive(binding)) this.#ports.begun(binding);
  }

  #begin(binding: Binding, turn: ApplyTurn): void {
    const { kv, machines, lifecycle, trash } = this.#ports;
    lifecycle.await(binding);
    const isLater = trash.has(binding.group) || this.recoveries.isMadeHere(binding);
    if (lifecycle.own(binding) === undefined || isLater) return;
    machines.createDatabase(kv, binding, membershipOf(binding.founders)).flushInto(turn.batch);
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
