/**
 * Replicas of recovered databases (ADR 0045): this node builds the rows of the new instance from those of the old one,
 * which no catalog names any more.
 *
 * ```
 *   a replica ── its database is recovered from it ──> kept: closed, its rows and its log stay
 *     ── its rows copied, durably ──> applied row of the new instance, then trash mark of the old copy, both durable
 *     ── the new log, with the entries after the rows; then the end of the old log ──> a group
 * ```
 * The binding names the origin, and the copy is complete when the log of its origin has ended. After a crash before
 * that, which may leave the beginning of the new log, the copying starts again. Where neither has a log, the copy is
 * complete when its origin is marked.
 *
 *   C24 A recovered replica is complete or absent: it has all rows of its origin, and every entry that was in
 *       the origin's log after them. Until it is durable, nothing of the origin is deleted.
 */
import { type GroupId, LEVEL_FIRST, toTerm } from '#base';
import type { KvBatch } from '#kv';
import type { Entry, EntryId } from '#raft';
import type { RecoveredGroup } from '#storage';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { Replication } from '../group/remote-members.ts';
import type { DurableMark } from '../machine.ts';
import type { Binding } from '../outcome.ts';
import { markOf } from './crash-recovery.ts';
import type { KeptLog, Lifecycle } from './group-lifecycle.ts';
import type { LogFeed } from './log-feed.ts';
import type { RowTask } from './row-work.ts';
import type { Trash } from './trash.ts';

export interface RecoveredCopiesPorts extends GroupPorts {
  readonly lifecycle: Lifecycle;
  readonly trash: Trash;
  readonly feed: LogFeed;
  readonly replication: Pick<Replication, 'begin'>;
  /** Returns whether the rows of the group are not whole. */
  readonly isWithdrawn: (group: GroupId) => boolean;
  readonly mayWrite: () => boolean;
}

/** A closed replica that is kept until the recovered one is complete. */
interface Origin {
  readonly group: GroupId;
  readonly binding: Binding;
  readonly log: KeptLog | undefined;
  /** Its rows must be deleted, because the new replica is complete. */
  isMarked: boolean;
}

export class RecoveredCopies {
  readonly #ports: RecoveredCopiesPorts;
  readonly #origins = new Map<GroupId, Origin>();

  constructor(ports: RecoveredCopiesPorts) {
    this.#ports = ports;
  }

  /** Returns whether the replica of this node is built from that of another group. */
  isMadeHere(binding: Binding): boolean {
    const own = this.#ports.lifecycle.own(binding);
    return binding.recovery !== undefined && own !== undefined && binding.founders.includes(own);
  }

  /** Returns whether a replica that an earlier process made is complete. */
  isComplete({ group, recovery }: Binding, isLogged: boolean): boolean {
    const { kv, machines, lifecycle, trash } = this.#ports;
    if (recovery === undefined || lifecycle.logOf(recovery.group) !== undefined) return false;
    if (isLogged) return true;
    const isEnded = trash.has(recovery.group) || markOf(machines, kv, recovery.group) === undefined;
    return isEnded && markOf(machines, kv, group) !== undefined;
  }

  /** The databases whose closed replicas are kept, for others are built from them. */
  get origins(): readonly Binding[] {
    return [...this.#origins.values()].map(({ group, binding }) => {
      return { ...binding, group, databaseId: binding.recovery?.databaseId ?? binding.databaseId };
    });
  }

  isOrigin(group: GroupId): boolean {
    return this.#origins.has(group);
  }

  /** Keeps the origin of the binding. `log` is its log on this node. */
  keepOrigin(binding: Binding, log: KeptLog | undefined): void {
    const group = binding.recovery?.group;
    if (group !== undefined) this.#origins.set(group, { group, binding, log, isMarked: false });
  }

  /** An instance is gone before its replica was built here: the origin is no longer needed. */
  giveUp({ recovery }: Binding, turn: ApplyTurn): void {
    const origin = recovery && this.#origins.get(recovery.group);
    if (origin === undefined || origin.isMarked) return;
    this.#origins.delete(origin.group);
    this.#mark(turn.batch, origin.group);
    turn.ended.push(origin.group);
  }

  /** The next copy, of an origin whose rows are whole. */
  next(): RowTask | undefined {
    const next = [...this.#origins.values()].find(({ group }) => !this.#ports.isWithdrawn(group));
    return next && (() => this.#copy(next));
  }

  /** A process that ended before the copy was complete may have marked the origin. */
  #mark(batch: KvBatch, origin: GroupId): void {
    if (!this.#ports.trash.has(origin)) this.#ports.trash.mark(batch, origin);
  }

  async #copy(origin: Origin): Promise<(() => void) | undefined> {
    const { kv, machines, lifecycle, syncStore, mayWrite } = this.#ports;
    const { group: from, binding } = origin;
    const isWanted = (): boolean =>
      this.#origins.get(from) === origin && lifecycle.awaitedOf(binding.group) !== undefined;
    const isCopied = await machines.copyOrigin(kv, binding, () => mayWrite() && isWanted());
    if (!isCopied) return undefined;
    await syncStore();
    if (!isWanted()) return () => undefined;
    const batch = kv.batch();
    machines.recoverInto(batch, kv, binding);
    this.#mark(batch, from);
    origin.isMarked = true;
    await kv.write(batch);
    await syncStore();
    return () => this.#begin(origin);
  }

  /** The rows are durable: the logs follow, in this order. */
  #begin({ group: from, binding, log }: Origin): void {
    const { lifecycle, feed, trash, limits, monotonicMs, replication } = this.#ports;
    this.#origins.delete(from);
    const isWanted = lifecycle.awaitedOf(binding.group) !== undefined;
    if (isWanted) this.#beginLog(binding.group, log);
    feed.tombstone(from, () => trash.add(from, monotonicMs() + limits.trashDelayMs));
    if (!isWanted || !lifecycle.arrive(binding)) return;
    replication.begin(binding);
    lifecycle.touch(binding.group);
  }

  /** `origin` is the log of the database that the group was recovered from. */
  #beginLog(group: GroupId, origin: KeptLog | undefined): void {
    const { kv, machines, feed, lifecycle } = this.#ports;
    const mark = machines.markOf(kv, group);
    const log = mark && logBehind(group, { ...mark, history: kv.historyEnd(group) }, origin);
    if (log === undefined) return;
    feed.found(log);
    lifecycle.found(log);
  }
}

/** The log of a replica with this state, with the later entries of its origin's log; undefined if it needs none yet. */
function logBehind(group: GroupId, mark: DurableMark, origin: KeptLog | undefined): RecoveredGroup | undefined {
  const entries = entriesBehind(mark, origin).map((entry) => ({ ...entry, level: LEVEL_FIRST }));
  if (mark.index === 0 && entries.length === 0) return undefined;
  const hardState = { term: toTerm(Math.max(mark.term, origin?.term ?? 0)), vote: 0 };
  return { group, hardState, checkpoint: mark, entries };
}

/** The entries of a log after a state, if the state is part of this log. Memberships are omitted. */
export function entriesBehind({ index, term }: EntryId, log: KeptLog | undefined): readonly Entry[] {
  if (log === undefined) return [];
  const { base, entries } = log;
  const known = index === base.index ? base.term : entries.find((entry) => entry.index === index)?.term;
  if (known !== term) return [];
  const left = entries.filter((entry) => entry.index > index);
  return left.map(({ index: at, term: of, payload }) => ({ index: at, term: of, payload }));
}
