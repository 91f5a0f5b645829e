/**
 * Rebuilds the rows of databases from their histories, one after the other, while the node serves the others.
 *
 * ```
 *   dormant ── rows are incomplete or damaged ──> withdrawn: its history ends at the checkpoint, no applied row
 *     ── all rows rebuilt, durably ──> open: its log is applied from the checkpoint on
 *     ── its history is damaged ──> withdrawn until the next start
 * ```
 * A missing applied row is the durable mark: a start after a crash withdraws the database again. Its log keeps every
 * entry after the checkpoint, because nothing else makes a later one.
 *
 *   C43 A replica without whole rows answers no reads and takes no part in votes or quorums. Nothing but the rebuild
 *       reads or writes its rows, and a removed replica is cleared when its rebuild has ended.
 */
import type { GroupId, Revision } from '#base';
import { isFaultOfRow } from '#database';
import type { KvStore } from '#kv';
import type { DiskLevel } from '#storage';
import type { Machines } from '../machine.ts';
import type { Reporter } from '../reporter.ts';
import type { LostRows } from './crash-recovery.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { Turns } from './turns.ts';

export interface RebuildsPorts {
  readonly kv: KvStore;
  readonly machines: Pick<Machines, 'withdraw' | 'rebuild'>;
  readonly lifecycle: Lifecycle;
  readonly reporter: Pick<Reporter, 'noteHistory' | 'wrote'>;
  /** Makes every completed write durable. */
  readonly syncStore: () => Promise<void>;
  readonly turns: Pick<Turns, 'run' | 'keep' | 'until'>;
  readonly disk: () => DiskLevel;
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
  #running: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;

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

  has(group: GroupId): boolean {
    return this.#withdrawn.has(group);
  }

  /** True while the rebuild of a removed replica has not stopped yet. */
  get isStopping(): boolean {
    return this.#current !== undefined && !this.#isWanted(this.#current);
  }

  /** Takes a dormant group out of service. It stays so when the store is synced. */
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

  /** Every withdrawal is durable. */
  start(): void {
    this.#isStarted = true;
    this.advance();
  }

  /** Starts the next rebuild, if none is in progress and the disk has space: that of the shortest history. */
  advance(): void {
    if (!this.#isStarted || this.#running !== undefined || !this.#mayWrite) return;
    let next: Withdrawn | undefined;
    for (const each of this.#withdrawn.values()) {
      if (!this.#isWanted(each)) this.#withdrawn.delete(each.binding.group);
      else if (!each.hasFailed && each.durable.history.end < (next?.durable.history.end ?? Number.POSITIVE_INFINITY))
        next = each;
    }
    if (next === undefined) return;
    this.#current = next;
    this.#running = this.#rebuild(next);
    this.#ports.turns.keep(this.#running);
  }

  /** Stops after the current slice; the next start begins again. */
  close(): void {
    this.#isClosed = true;
  }

  /** After `close`, resolves when nothing is written any more. */
  async settled(): Promise<void> {
    await this.#running;
  }

  get #mayWrite(): boolean {
    return !this.#isClosed && this.#ports.disk() === 'open';
  }

  #isWanted({ binding: { group } }: Withdrawn): boolean {
    return this.#ports.lifecycle.isWithdrawn(group) || this.#ports.isOrigin(group);
  }

  async #rebuild(current: Withdrawn): Promise<void> {
    const { machines, turns } = this.#ports;
    const { binding, durable } = current;
    const mayContinue = (indexed: number): boolean => {
      current.indexed = indexed;
      return this.#mayWrite && this.#isWanted(current);
    };
    const rebuilt = machines.rebuild(this.#ports, binding, durable, mayContinue);
    const isDone = await rebuilt.catch((failure: unknown) => this.#fail(current, failure));
    this.#current = undefined;
    this.#running = undefined;
    turns.run(() => {
      if (isDone && !this.#isClosed) this.#restore(current);
      this.advance();
    });
  }

  #fail(withdrawn: Withdrawn, failure: unknown): false {
    if (!isFaultOfRow(failure)) throw failure;
    withdrawn.hasFailed = true;
    this.#ports.reporter.noteHistory({ kind: 'damaged', group: withdrawn.binding.group, fault: failure.message });
    return false;
  }

  /** Opens the group, unless it would be dormant after a start. */
  #restore({ binding, durable }: Withdrawn): void {
    const { lifecycle, turns } = this.#ports;
    const { group: id } = binding;
    this.#withdrawn.delete(id);
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
