/**
 * The copies of recovered databases (ADR 0045): this node makes the rows of the new instance of those that it has of
 * the old one, which no catalog names any more.
 *
 * ```
 *   a copy ── its name means an instance that goes on from it ──> kept: closed, its rows and its log stay
 *     ── its rows copied, durably ──> one synced batch: applied row of the new instance, trash mark of the old copy
 *     ── the new log: begins behind the rows, with what stood behind them; then the end of the old log ──> a group
 * ```
 * The binding says what is to be made of what, and the applied row that it was made; so a crash anywhere needs nothing
 * but to go on: the copying begins again, or the log is begun that is missing.
 *
 *   C24 A recovered copy is there as a whole or not at all: with all rows of its origin, and every entry that stood in
 *       the origin's log behind them. Until it is, durably, nothing of the origin is cleared.
 */
import { type GroupId, LEVEL_FIRST, toTerm } from '#base';
import type { KvStore } from '#kv';
import { type Entry, type EntryId, membershipOf } from '#raft';
import type { DiskLevel, RecoveredGroup } from '#storage';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import type { KeptLog, Lifecycle } from '../core/group-lifecycle.ts';
import type { LogFeed } from '../core/log-feed.ts';
import type { Trash } from '../core/trash.ts';
import type { Turns } from '../core/turns.ts';
import type { CoreLimits } from '../limits.ts';
import type { AppliedMark, Machines } from '../machine.ts';
import type { Binding } from '../outcome.ts';

export interface RecoveredCopiesPorts {
  readonly kv: KvStore;
  readonly machines: Machines;
  readonly lifecycle: Lifecycle;
  readonly trash: Trash;
  readonly feed: LogFeed;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  /** Makes every write of the store that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  readonly turns: Pick<Turns, 'run' | 'keep'>;
  readonly disk: () => DiskLevel;
  /** The rows of a copy are in the store. */
  readonly begun: (binding: Binding) => void;
}

/** A copy that is closed, until the one is made that goes on from it. */
interface Origin {
  readonly group: GroupId;
  readonly binding: Binding;
  readonly log: KeptLog | undefined;
  /** Its rows are to be cleared: the new copy is there. */
  isMarked: boolean;
}

export class RecoveredCopies {
  readonly #ports: RecoveredCopiesPorts;
  readonly #origins = new Map<GroupId, Origin>();
  #running: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(ports: RecoveredCopiesPorts) {
    this.#ports = ports;
  }

  /** Whether the copy of this node is one that is made of another group's. */
  isMadeHere(binding: Binding): boolean {
    const own = this.#ports.lifecycle.own(binding);
    return binding.recovery !== undefined && own !== undefined && binding.founders.includes(own);
  }

  /** Whether the copy is closed, and something is to be made of it. */
  isOrigin(group: GroupId): boolean {
    return this.#origins.has(group);
  }

  /** Keeps the copy that the binding goes on from. `log` is what this node has of its log. */
  keepOrigin(binding: Binding, log: KeptLog | undefined): void {
    const group = binding.recovery?.group;
    if (group !== undefined) this.#origins.set(group, { group, binding, log, isMarked: false });
  }

  /** An instance is gone before its copy was made here: nobody needs the origin any more. */
  giveUp({ recovery }: Binding, turn: ApplyTurn): void {
    const origin = recovery && this.#origins.get(recovery.group);
    if (origin === undefined || origin.isMarked) return;
    this.#origins.delete(origin.group);
    this.#ports.trash.mark(turn.batch, origin.group);
    turn.ended.push(origin.group);
  }

  /** What an earlier process left is mended: copying may begin. */
  start(): void {
    this.#isStarted = true;
    this.advance();
  }

  /** Begins the next copying, if none is under way and the disk has room. */
  advance(): void {
    if (!this.#isStarted || this.#running !== undefined || !this.#mayWrite) return;
    const [next] = this.#origins.values();
    if (next === undefined) return;
    this.#running = this.#copy(next);
    this.#ports.turns.keep(this.#running);
  }

  /** Stops after the current slice; what is left is done after the next start. */
  close(): void {
    this.#isClosed = true;
  }

  /** When it resolves after `close`, nothing is written any more. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /**
   * Begins the log of a copy that is in the store and not in the log, for its process ended in between; whether there
   * was anything to begin. `origin` is what the log holds of its origin.
   */
  beginLog(binding: Binding, origin: KeptLog | undefined): boolean {
    const { kv, machines, feed, lifecycle } = this.#ports;
    const mark = machines.markOf(kv, binding.group);
    const log = mark && this.isMadeHere(binding) ? logBehind(binding.group, mark, origin) : undefined;
    if (log === undefined) return false;
    feed.found(log);
    lifecycle.found(log);
    return true;
  }

  /** A store that has no room left ends the node; so does whatever fills its disk. */
  get #mayWrite(): boolean {
    return !this.#isClosed && this.#ports.disk() === 'open';
  }

  async #copy(origin: Origin): Promise<void> {
    const { kv, machines, lifecycle, trash, syncStore, turns } = this.#ports;
    const { group: from, binding } = origin;
    const isWanted = (): boolean =>
      this.#origins.get(from) === origin && lifecycle.awaitedOf(binding.group) !== undefined;
    const isCopied = await machines.copyOrigin(kv, binding, () => this.#mayWrite && isWanted());
    if (isCopied) await syncStore();
    if (isCopied && isWanted()) {
      const batch = kv.batch();
      machines.recoverInto(batch, kv, binding, membershipOf(binding.founders));
      trash.mark(batch, from);
      origin.isMarked = true;
      await kv.write(batch, { sync: true });
      turns.run(() => this.#begin(origin));
    }
    this.#running = undefined;
    if (isCopied) turns.run(() => this.advance());
  }

  /** The rows are durable: the logs follow, in this order. */
  #begin({ group: from, binding, log }: Origin): void {
    const { lifecycle, feed, trash, limits, monotonicMs, begun } = this.#ports;
    this.#origins.delete(from);
    const isWanted = lifecycle.awaitedOf(binding.group) !== undefined;
    if (isWanted) this.beginLog(binding, log);
    feed.tombstone(from, () => trash.add(from, monotonicMs() + limits.trashDelayMs));
    if (!isWanted || !lifecycle.arrive(binding)) return;
    begun(binding);
    lifecycle.touch(binding.group);
  }
}

/**
 * The log of a copy that stands there, with what stood behind that in the log of its origin; undefined if it needs none
 * yet.
 */
export function logBehind(group: GroupId, mark: AppliedMark, origin: KeptLog | undefined): RecoveredGroup | undefined {
  const entries = entriesBehind(mark, origin).map((entry) => ({ ...entry, level: LEVEL_FIRST }));
  if (mark.index === 0 && entries.length === 0) return undefined;
  const { index, term, revision } = mark;
  const hardState = { term: toTerm(Math.max(term, origin?.term ?? 0)), vote: 0 };
  return { group, hardState, checkpoint: { index, term, revision }, entries };
}

/**
 * The entries of a log behind a state, if the state is one that this log leads to. Who belongs to the group is left
 * out.
 */
export function entriesBehind({ index, term }: EntryId, log: KeptLog | undefined): readonly Entry[] {
  if (log === undefined) return [];
  const { base, entries } = log;
  const known = index === base.index ? base.term : entries.find((entry) => entry.index === index)?.term;
  if (known !== term) return [];
  const left = entries.filter((entry) => entry.index > index);
  return left.map(({ index: at, term: of, payload }) => ({ index: at, term: of, payload }));
}
