/**
 * The core: all groups of this node in one object, without threads, timers or clocks of its own.
 *
 * The caller calls `send` with the commands of the front, `tick` when `deadlineMs` has passed, and `drain` once; it
 * receives reports and at most one failure. Between these calls the core only works when the log or the store answers.
 *
 * Its parts are created in core-parts.ts; startup.ts starts it, and drain.ts ends it.
 *
 * Every call ends its turn in the same way: entries to persist go to the log as one append, ready entries are applied,
 * the front gets one report, and the next batch of the store is written.
 */
import { CATALOG_GROUP, type GroupId, type NodeId } from '#base';
import type { Membership } from '#raft';
import type { DiskLevel, RecoveredLog } from '#storage';
import type { AdminRequests } from '../admin/admin-requests.ts';
import { checkLevels } from '../admin/levels.ts';
import type { CatalogState } from '../catalog/catalog-mirror.ts';
import type { Commands, CoreLink, Report } from '../link.ts';
import type { ForwardItem } from '../peer/forward.ts';
import type { Envelope } from '../peer/links.ts';
import type { ReceivedTables } from '../peer/peer-codec.ts';
import type { Unheard } from '../peer/peer-mail.ts';
import type { SnapshotLetter } from '../peer/snapshot-letter.ts';
import { CoreParts } from './core-parts.ts';
import type { CorePorts } from './core-ports.ts';
import { type DrainNote, drainCore, leaveCore } from './drain.ts';
import { type CoreHealth, type CoreLevels, countMembers, lagOf, recordedAheadOf } from './health.ts';
import { startUp } from './startup.ts';
import { Turns } from './turns.ts';

const ENDS = { stays: false };

export class CoreRuntime implements CoreLink {
  readonly #ports: CorePorts;
  readonly #parts: CoreParts;
  readonly #turns: Turns;
  #clearing: Promise<void> | undefined;
  /** Pending while other nodes must not send entries. */
  #room: Promise<void> | undefined;
  #disk: DiskLevel = 'open';
  #onStopRequested: () => void = () => undefined;
  #onDrain: (note: DrainNote) => void = () => undefined;
  /** The last drain, unless it was cancelled. */
  #drain: { readonly stays: boolean } | undefined;

  /**
   * Recovers the node, becomes leader of groups that it holds alone and that lag, and continues where the last process
   * stopped.
   */
  static async open(ports: CorePorts, recovered: RecoveredLog): Promise<CoreRuntime> {
    checkLevels(ports, recovered);
    const core = new CoreRuntime(ports, recovered);
    await core.#recover(recovered);
    return core;
  }

  private constructor(ports: CorePorts, recovered: RecoveredLog) {
    this.#ports = ports;
    this.#turns = new Turns({ later: ports.later, end: () => this.#endTurn() });
    this.#parts = new CoreParts({ ...ports, turns: this.#turns, disk: () => this.#disk }, recovered);
  }

  /** Every database and node of the applied catalog. */
  get catalog(): CatalogState {
    const { catalog } = this.#parts;
    return { bindings: catalog.list(), nodes: catalog.nodes(), apiKeys: catalog.apiKeys(), level: catalog.level };
  }

  /** Databases whose rows are being rebuilt (C43). */
  get rebuilding(): readonly GroupId[] {
    return this.#parts.cluster.hosting.rebuilds.groups;
  }

  /** Next time to call `tick`; undefined when nothing waits for time to pass. */
  get deadlineMs(): number | undefined {
    const { checkpointer, timers, rest, trash, cluster, snapshots, histories } = this.#parts;
    const waiting = [checkpointer, timers, rest, trash, cluster, snapshots, histories];
    const first = Math.min(...waiting.map(({ deadlineMs }) => deadlineMs ?? Number.POSITIVE_INFINITY));
    return Number.isFinite(first) ? first : undefined;
  }

  /** Numbers of open groups and of leaderships, and sums of their indexes. */
  get levels(): CoreLevels {
    const { lifecycle, leadership, totals } = this.#parts;
    const { ledCount: ledGroups, followedCount: followedGroups } = leadership;
    return { openGroups: lifecycle.openCount, ledGroups, followedGroups, ...totals.levels };
  }

  /** The current health snapshot; iterates over the groups that this node leads. */
  get health(): CoreHealth {
    const { leadership, rest, feed, totals, memory, cluster, catalog, divergences, catchUp } = this.#parts;
    const { committedIndex, appliedIndex } = totals.levels;
    return {
      levels: this.levels,
      ...countMembers(this.membershipOf(CATALOG_GROUP)),
      lag: lagOf(leadership.led, rest.beatenPeers),
      logQueue: feed.inFlightCount,
      storeQueue: committedIndex - appliedIndex,
      heldBytes: memory.heldBytes,
      clock: cluster.clocks.standing,
      recordedAhead: recordedAheadOf(leadership.led, {
        wallMs: this.#ports.clock.nowMs(),
        aheadMsMax: this.#ports.limits.clockSkewMsMax,
        nameOf: (group) => catalog.bindingOf(group)?.name,
      }),
      diverged: divergences.count,
      lacking: catchUp.count(this.#ports.monotonicMs()),
      rebuilds: cluster.hosting.rebuilds.progress,
    };
  }

  get isAlone(): boolean {
    return this.#parts.cluster.isAlone;
  }

  /** Calls the listener when `isAlone` ends, before any effect of that. */
  onCompany(listener: () => void): void {
    this.#parts.cluster.onCompany(listener);
  }

  /** Returns whether this node leads the group and accepts writes. */
  leads(id: GroupId): boolean {
    return this.#parts.lifecycle.find(id)?.isReady ?? false;
  }

  /** Returns whether the group has a leader, as far as this node knows. */
  isLed(id: GroupId): boolean {
    return this.#parts.lifecycle.find(id)?.leader !== undefined;
  }

  /** Membership of the group as this node knows it; undefined when it is not open here. */
  membershipOf(id: GroupId): Membership | undefined {
    return this.#parts.lifecycle.find(id)?.raft.membership;
  }

  onReport(listener: (report: Report) => void): void {
    this.#parts.reporter.onReport(listener);
  }

  /** Calls the listener once, when the core cannot continue. It does nothing afterwards, and the process must exit. */
  onFailure(listener: (failure: Error) => void): void {
    this.#turns.onFailure(listener);
  }

  send(commands: Commands): void {
    this.#turns.run(() => {
      this.#parts.reporter.follow(commands.follows);
      if (commands.shown > 0) this.#parts.cluster.fence.shownHere(commands.shown);
      this.#parts.intake.take(commands);
      this.#parts.reads.take(commands.reads);
    });
  }

  tick(): void {
    const { apply, replication, timers, steps, rest, cluster, snapshots, leadership, histories } = this.#parts;
    const { intake, forwards, checkpointer } = this.#parts;
    this.#turns.run(() => {
      apply.hurry();
      const nowMs = this.#ports.monotonicMs();
      for (const group of timers.due(nowMs)) steps.step(group, { kind: 'tick' });
      // A heartbeat may have arrived while this thread was suspended (C10).
      if (!timers.isHeldUp) replication.campaign(nowMs);
      rest.tick(nowMs);
      cluster.tick(nowMs);
      snapshots.tick(nowMs);
      leadership.tick(nowMs);
      histories.tick(nowMs);
      intake.takeAgain(forwards.expire(nowMs));
      if (checkpointer.isDue(nowMs)) this.#turns.keep(this.#checkpoint());
      this.#clearTrash(nowMs);
    });
    if (!this.#turns.hasFailed) this.#parts.reporter.flushAll();
  }

  /** Handles a batch of messages from another node. Messages for unknown replicas are dropped. */
  receive(from: NodeId, messages: readonly Envelope[], tables: ReceivedTables = {}): Unheard | undefined {
    const { cluster, rest, replication, leadership } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (!cluster.isKnown(from)) return this.#receiveOfStranger(from, [...rowsOf(tables), ...messages]);
    this.#turns.hear(() => {
      leadership.transfers.heard(from);
      rest.hear(from, tables, this.#ports.monotonicMs());
      for (const envelope of messages) replication.deliver(from, envelope);
    });
    return undefined;
  }

  /** Handles forwarded requests of another node, and its answers to requests of this one. */
  forwarded(from: NodeId, items: readonly ForwardItem[]): Unheard | undefined {
    const { cluster, intake, forwards } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (this.#turns.isDeaf) forwards.turnAway(from, items);
    else this.#turns.hear(() => intake.take(forwards.take(from, items)));
    return cluster.isKnown(from) ? undefined : 'stranger';
  }

  /** Handles a message of a snapshot transfer. */
  receiveLetter(from: NodeId, letter: SnapshotLetter): Unheard | undefined {
    const { cluster, snapshots } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (!isOfCatalog(letter) && !cluster.isKnown(from)) return 'stranger';
    this.#turns.hear(() => snapshots.receive(letter));
    return undefined;
  }

  /**
   * A node that is missing from the local catalog may have joined while this node was away, and may even lead the
   * catalog. Only its messages about the catalog are accepted until the catalog names it (C34).
   */
  #receiveOfStranger(from: NodeId, messages: readonly Envelope[]): Unheard | undefined {
    const { rest, replication } = this.#parts;
    const ofCatalog = messages.filter(isOfCatalog);
    this.#turns.hear(() => {
      rest.forget(from);
      for (const envelope of ofCatalog) replication.deliver(from, envelope);
    });
    return ofCatalog.length < messages.length ? 'stranger' : undefined;
  }

  /**
   * Undefined while there is room for entries from other nodes; otherwise resolves when there is. It counts only what
   * this node completes by itself: appends that are not durable, and entries that are not applied. Otherwise two nodes
   * could each wait for the other to read.
   */
  room(): Promise<void> | undefined {
    if (this.#room !== undefined) return this.#room;
    const { memory } = this.#parts;
    if (!memory.isBehind(this.#behindBytes)) return undefined;
    const forget = (): void => {
      this.#room = undefined;
    };
    // After a failure of the core, waiting requests end as well.
    this.#room = this.#turns.until(() => memory.hasCaughtUp(this.#behindBytes)).then(forget, forget);
    return this.#room;
  }

  get #behindBytes(): number {
    return this.#parts.feed.inFlightBytes + this.#parts.apply.backlogBytes;
  }

  /** A node became unreachable: recent messages to it may be lost, and it may have stopped. */
  unreachable(node: NodeId): void {
    this.#turns.hear(() => {
      this.#parts.forwards.unreachable(node);
      this.#parts.replication.unreachable(node, this.#ports.monotonicMs());
    });
  }

  /** A node became reachable: there may be a quorum again. */
  reachable(node: NodeId): void {
    this.#turns.hear(() => {
      this.#parts.cluster.clocks.reached(node);
      this.#parts.replication.reachable(node, this.#ports.monotonicMs());
    });
  }

  /** Proposes a placement of the database on these nodes; the catalog will show the result. */
  place(id: GroupId, nodes: readonly NodeId[]): void {
    this.#turns.run(() => this.#parts.cluster.place(id, nodes));
  }

  /** Requests of operators and of joining nodes. */
  get admin(): AdminRequests {
    return this.#parts.admin;
  }

  /** Calls the listener once, when an operator drains this node and it must exit. */
  onStopRequested(listener: () => void): void {
    this.#onStopRequested = listener;
  }

  /** Calls the listener when a drain with `--stay` starts, is complete, or ends. */
  onDrain(listener: (note: DrainNote) => void): void {
    this.#onDrain = listener;
  }

  /** Transfers the leaderships, and accepts none that another node can take, until `undrain`. May be repeated. */
  drainInPlace(): void {
    if (this.#drain !== undefined) return;
    const drain = { stays: true };
    this.#drain = drain;
    const { transfers } = this.#parts.leadership;
    const work = async (): Promise<void> => {
      const done = this.#leave(Number.POSITIVE_INFINITY);
      this.#onDrain({ phase: 'began', leads: transfers.count });
      await done;
      if (this.#drain === drain) this.#onDrain({ phase: 'handed-over', leads: transfers.count });
    };
    this.#turns.keep(work());
  }

  /** Ends a drain with `--stay`. Returns false when this node is about to exit. May be repeated. */
  undrain(): boolean {
    if (this.#drain?.stays !== true) return this.#drain === undefined;
    this.#drain = undefined;
    this.#turns.run(() => {
      this.#parts.cluster.stay();
      this.#parts.leadership.stay();
    });
    this.#onDrain({ phase: 'ended', leads: 0 });
    return true;
  }

  /** Announces the drain to other nodes, and notifies the process. May be repeated. */
  requestStop(): void {
    this.#drain = ENDS;
    this.#turns.run(() => this.#parts.cluster.leave());
    const tell = this.#onStopRequested;
    this.#onStopRequested = () => undefined;
    tell();
  }

  runs(digest: string, fault?: string): void {
    this.#parts.admin.runs(digest, fault);
  }

  /** The history of a replica of this node is damaged. */
  damaged(group: GroupId): void {
    this.#turns.run(() => this.#parts.cluster.hosting.rebuilds.giveUp(group));
  }

  reportDisk(level: DiskLevel): void {
    this.#disk = level;
  }

  /** Transfers the leaderships while it continues to serve; resolves after so many milliseconds at the latest. */
  async leave(withinMs: number): Promise<void> {
    this.#drain = ENDS;
    await this.#leave(withinMs);
  }

  /**
   * Accepts no more requests, answers pending ones, transfers shared leaderships, and makes everything durable. Log and
   * store stay open, and nothing is written to them afterwards.
   */
  async drain(): Promise<void> {
    this.#drain = ENDS;
    await drainCore({
      ...this.#ports,
      parts: this.#parts,
      turns: this.#turns,
      checkpoint: () => this.#checkpoint(),
      clearing: () => this.#clearing,
    });
  }

  #leave(withinMs: number): Promise<void> {
    return leaveCore({ ...this.#ports, parts: this.#parts, turns: this.#turns }, withinMs);
  }

  async #recover(recovered: RecoveredLog): Promise<void> {
    const { log } = this.#ports;
    const { cluster, steps, lifecycle, divergences } = this.#parts;
    log.onPersisted((through, facts) => this.#turns.run(() => steps.persisted(through, facts)));
    log.onFatal((failure) => this.#turns.fail(failure));
    await divergences.load();
    cluster.begin();
    cluster.skipped();
    await startUp({ ...this.#ports, recovered, parts: this.#parts, turns: this.#turns });
    cluster.lookForCompany();
    this.#parts.catchUp.begin(lifecycle.openGroups, this.#ports.monotonicMs());
  }

  #clearTrash(nowMs: number): void {
    // A machine that reads the store for an entry of a deleted database must still find its rows.
    const { trash, apply, cluster } = this.#parts;
    if (!trash.isDue(nowMs) || apply.isAnswering || cluster.hosting.rebuilds.isStopping) return;
    this.#clearing = this.#parts.trash.run();
    this.#turns.keep(this.#clearing);
  }

  async #checkpoint(): Promise<void> {
    await this.#parts.checkpointer.run();
    this.#turns.run(() => undefined);
  }

  /** The common end of every turn. */
  #endTurn(): void {
    const { snapshots, leadership, cluster, reads, replication, feed, forwards, apply, reporter, warmer } = this.#parts;
    snapshots.advance();
    this.#parts.divergences.settle();
    leadership.settle();
    this.#parts.admin.settle();
    cluster.settle();
    reads.settle();
    replication.answer();
    feed.flush();
    forwards.flush();
    replication.outbox.flush();
    apply.apply();
    // Outcomes are reported before the batch is encoded.
    reporter.flush();
    apply.write();
    const warming = warmer.begin();
    if (warming !== undefined) this.#turns.keep(warming);
  }
}

function isOfCatalog({ group }: { readonly group: GroupId }): boolean {
  return group === CATALOG_GROUP;
}

function rowsOf({ beats, answers }: ReceivedTables): readonly Envelope[] {
  return [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? [])];
}
