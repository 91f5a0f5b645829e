/**
 * The core: every group of this node in one object without threads, timers or clocks of its own.
 *
 * Whoever drives it calls `send` with the front's commands, `tick` when `deadlineMs` has passed, and `drain` once; it
 * hears reports and, at most once, a failure. Between those calls it works only when the log or the store answers.
 *
 * What it consists of is in core-parts.ts, how it begins in startup.ts, and how it ends in drain.ts.
 *
 * Every way in ends its turn the same way: what is to be persisted goes to the log as one append, what is ready is
 * applied, the front gets one report, and the next batch of the store is written.
 */
import { CATALOG_GROUP, type GroupId, type NodeId } from '#base';
import type { Membership } from '#raft';
import type { DiskLevel, RecoveredLog } from '#storage';
import type { CatalogState } from '../catalog/catalog-mirror.ts';
import { checkLevels, type FinalizeAnswer, type FinalizeOrder } from '../catalog/levels.ts';
import type { Registration } from '../catalog/registrar.ts';
import type { CoreLevels } from '../front/observer.ts';
import type { NodeOrder } from '../orders/decommission.ts';
import type { CoreDescription, DescribedComponents } from '../orders/describe.ts';
import type { OrderAnswer } from '../orders/node-orders.ts';
import type { NodeRegistration } from '../outcome.ts';
import type { Envelope } from '../peer/envelope.ts';
import type { ForwardItem } from '../peer/forward.ts';
import type { HeardTables } from '../peer/peer-codec.ts';
import type { Unheard } from '../peer/peer-mail.ts';
import type { SnapshotLetter } from '../peer/snapshot-letter.ts';
import type { Commands, CoreLink, Report } from '../thread/link.ts';
import type { ClusterWork } from './cluster-work.ts';
import { CoreParts } from './core-parts.ts';
import type { CorePorts } from './core-ports.ts';
import { type DrainNote, drainCore, leaveCore } from './drain.ts';
import { type CoreStanding, countMembers, lagOf, recordedAheadOf } from './standing.ts';
import { startUp } from './startup.ts';
import { Turns } from './turns.ts';

const ENDS = { stays: false };
/** Digests of components that are described. */
const COMPONENTS_MAX = 1_000;

export class CoreRuntime implements CoreLink {
  readonly #ports: CorePorts;
  readonly #parts: CoreParts;
  readonly #turns: Turns;
  #clearing: Promise<void> | undefined;
  /** Pending while other nodes are not to send entries. */
  #room: Promise<void> | undefined;
  #disk: DiskLevel = 'open';
  /** Fault of each component by digest; undefined when the process can run it. */
  readonly #components = new Map<string, string | undefined>();
  #onToldToStop: () => void = () => undefined;
  #onDrain: (note: DrainNote) => void = () => undefined;
  /** The drain that was begun last, unless it was taken back. */
  #drain: { readonly stays: boolean } | undefined;

  /** Recovers, takes the lead of every group that was behind, and is then where the last process stopped. */
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

  /** Every database and node, as the catalog has it applied. */
  get catalog(): CatalogState {
    const { catalog } = this.#parts;
    return { bindings: catalog.list(), nodes: catalog.nodes(), apiKeys: catalog.apiKeys(), level: catalog.level };
  }

  /** When `tick` is next worth calling; undefined when nothing waits for time to pass. */
  get deadlineMs(): number | undefined {
    const { checkpointer, timers, rest, trash, cluster, snapshots, histories } = this.#parts;
    const waiting = [checkpointer, timers, rest, trash, cluster, snapshots, histories];
    const first = Math.min(...waiting.map(({ deadlineMs }) => deadlineMs ?? Number.POSITIVE_INFINITY));
    return Number.isFinite(first) ? first : undefined;
  }

  /** How many groups are open, how many of those lead, and how far they are. */
  get levels(): CoreLevels {
    const { lifecycle, leadership, totals } = this.#parts;
    const { ledCount: ledGroups, followedCount: followedGroups } = leadership;
    return { openGroups: lifecycle.openCount, ledGroups, followedGroups, ...totals.levels };
  }

  /** As it is now; passes over the groups that are led here. */
  get standing(): CoreStanding {
    const { leadership, rest, feed, totals, memory, cluster, catalog, divergences, catchUp } = this.#parts;
    const { committedIndex, appliedIndex } = totals.levels;
    return {
      ...countMembers(this.membershipOf(CATALOG_GROUP)),
      lag: lagOf(leadership.led, rest.told),
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
    };
  }

  get isAlone(): boolean {
    return this.#parts.cluster.isAlone;
  }

  /** Calls the listener when `isAlone` ends, before anything follows from that. */
  onCompany(listener: () => void): void {
    this.#parts.cluster.onCompany(listener);
  }

  /** Whether this node leads the group and can take writes. */
  leads(id: GroupId): boolean {
    return this.#parts.lifecycle.find(id)?.isReady ?? false;
  }

  /** Whether somebody leads the group, as far as this node has heard lately. */
  isLed(id: GroupId): boolean {
    return this.#parts.lifecycle.find(id)?.leader !== undefined;
  }

  /** Who belongs to the group as far as this node knows; undefined when it is not open here. */
  membershipOf(id: GroupId): Membership | undefined {
    return this.#parts.lifecycle.find(id)?.raft.membership;
  }

  onReport(listener: (report: Report) => void): void {
    this.#parts.reporter.onReport(listener);
  }

  /** Calls the listener once, when the core can go on no more. It does nothing afterwards: the process must end. */
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
      // Whoever leads may have said so while this thread stood still (C10).
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

  /** Messages of another node have arrived, all that came together. What is for no replica of this node is dropped. */
  receive(from: NodeId, messages: readonly Envelope[], tables: HeardTables = {}): Unheard | undefined {
    const { cluster, rest, replication, leadership } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (!cluster.isKnown(from)) return this.#receiveOfStranger(from, [...rowsOf(tables), ...messages]);
    this.#turns.hear(() => {
      leadership.handOver.heard(from);
      rest.hear(from, tables, this.#ports.monotonicMs());
      for (const envelope of messages) replication.deliver(from, envelope);
    });
    return undefined;
  }

  /** Another node forwards requests, and answers those of this one. */
  forwarded(from: NodeId, items: readonly ForwardItem[]): Unheard | undefined {
    const { cluster, intake, forwards } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (this.#turns.isDeaf) forwards.turnAway(from, items);
    else this.#turns.hear(() => intake.take(forwards.take(from, items)));
    return cluster.isKnown(from) ? undefined : 'stranger';
  }

  /** Another node has sent a letter of a snapshot's transfer. */
  receiveLetter(from: NodeId, letter: SnapshotLetter): Unheard | undefined {
    const { cluster, snapshots } = this.#parts;
    if (cluster.isRemoved(from)) return 'removed';
    if (!isOfCatalog(letter) && !cluster.isKnown(from)) return 'stranger';
    this.#turns.hear(() => snapshots.receive(letter));
    return undefined;
  }

  /**
   * Whom the catalog here does not name may have joined while this node was away, and even lead the catalog: of that it
   * is heard, and of nothing else, until the catalog names it (C34).
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
   * Undefined as long as there is room for what other nodes send of entries; otherwise it resolves when there is. Only
   * what this node gets done without them counts: appends that are not durable, and entries that are not applied.
   * Else two nodes might each wait for what the other one does not read.
   */
  room(): Promise<void> | undefined {
    if (this.#room !== undefined) return this.#room;
    const { memory } = this.#parts;
    if (!memory.isBehind(this.#behindBytes)) return undefined;
    const forget = (): void => {
      this.#room = undefined;
    };
    // Whoever waits when the core has failed waits for nothing any more.
    this.#room = this.#turns.until(() => memory.hasCaughtUp(this.#behindBytes)).then(forget, forget);
    return this.#room;
  }

  get #behindBytes(): number {
    return this.#parts.feed.inFlightBytes + this.#parts.apply.backlogBytes;
  }

  /** A node cannot be reached any more: what it was sent last may be lost, and it may have ended. */
  unreachable(node: NodeId): void {
    this.#turns.hear(() => {
      this.#parts.forwards.unreachable(node);
      this.#parts.replication.unreachable(node, this.#ports.monotonicMs());
    });
  }

  /** A node can be reached that could not be: there may be a quorum again. */
  reachable(node: NodeId): void {
    this.#turns.hear(() => {
      this.#parts.cluster.clocks.reached(node);
      this.#parts.replication.reachable(node, this.#ports.monotonicMs());
    });
  }

  /** Another membership may be wanted for the group than before. */
  reviewMembership(id: GroupId): void {
    this.#turns.run(() => this.#parts.cluster.review(id));
  }

  /** Asks the catalog to have these nodes hold the database; what becomes of it, the catalog will show. */
  place(id: GroupId, nodes: readonly NodeId[]): void {
    this.#turns.run(() => this.#parts.cluster.place(id, nodes));
  }

  /** A store asks to be a node, or a node says where it is now. Never rejects; unanswered if the core fails. */
  register(registration: NodeRegistration, isOwn: boolean): Promise<Registration> {
    return this.#parts.cluster.register(registration, isOwn);
  }

  /** What this node knows of the cluster, for operators. */
  describe(): CoreDescription {
    const { cluster, totals } = this.#parts;
    const { committedIndex, appliedIndex } = totals.levels;
    const disk = { diskUsedPercent: this.#ports.diskUsedPercent?.() ?? 0 };
    const own = { unapplied: committedIndex - appliedIndex, ...disk, ...describeComponents(this.#components) };
    return { ...cluster.describe(own), diverged: this.#parts.describeDiverged() };
  }

  /** An operator asks something of a node, or of all. Never rejects; unanswered if the core fails. */
  order(order: NodeOrder | FinalizeOrder): Promise<OrderAnswer | FinalizeAnswer> {
    return this.#parts.cluster.order(order);
  }

  /** Of databases that have lost their quorum. */
  get recoveries(): ClusterWork['recoveries'] {
    return this.#parts.cluster.recoveries;
  }

  /** Calls the listener once, when an operator wants this node to hand over what it leads, and to end. */
  onToldToStop(listener: () => void): void {
    this.#onToldToStop = listener;
  }

  /** Calls the listener when a node that stays begins to drain, has handed over, or is in service again. */
  onDrain(listener: (note: DrainNote) => void): void {
    this.#onDrain = listener;
  }

  /** Hands over whatever this node leads, and leads nothing that others could until `undrain`. May be repeated. */
  drainInPlace(): void {
    if (this.#drain !== undefined) return;
    const drain = { stays: true };
    this.#drain = drain;
    const { handOver } = this.#parts.leadership;
    const work = async (): Promise<void> => {
      const done = this.#handOver(Number.POSITIVE_INFINITY);
      this.#onDrain({ phase: 'began', leads: handOver.count });
      await done;
      if (this.#drain === drain) this.#onDrain({ phase: 'handed-over', leads: handOver.count });
    };
    this.#turns.keep(work());
  }

  /** Ends a drain of a node that stays. False: this node is about to end. May be repeated. */
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

  /** The others are to know from now on, and whoever runs this node is told. May be repeated. */
  tellToStop(): void {
    this.#drain = ENDS;
    this.#turns.run(() => this.#parts.cluster.leave());
    const tell = this.#onToldToStop;
    this.#onToldToStop = () => undefined;
    tell();
  }

  /** The latest are described; a node that has used more has no use for a list of them. */
  runs(digest: string, fault?: string): void {
    this.#components.delete(digest);
    this.#components.set(digest, fault);
    for (const oldest of this.#components.keys()) {
      if (this.#components.size <= COMPONENTS_MAX) break;
      this.#components.delete(oldest);
    }
  }

  reportDisk(level: DiskLevel): void {
    this.#disk = level;
  }

  /** Hands over whatever this node leads, and goes on serving; resolves after so long at the latest. */
  async leave(withinMs: number): Promise<void> {
    this.#drain = ENDS;
    await this.#handOver(withinMs);
  }

  /**
   * Takes nothing more, answers what it has, hands over the lead of groups with other members, and makes everything
   * durable. Log and store stay open, and nothing is written to them afterwards.
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

  #handOver(withinMs: number): Promise<void> {
    return leaveCore({ ...this.#ports, parts: this.#parts, turns: this.#turns }, withinMs);
  }

  async #recover(recovered: RecoveredLog): Promise<void> {
    const { log } = this.#ports;
    const { cluster, steps, lifecycle, trash, feed, catalog, divergences } = this.#parts;
    log.onPersisted((through, facts) => this.#turns.run(() => steps.persisted(through, facts)));
    log.onFatal((failure) => this.#turns.fail(failure));
    await divergences.load();
    cluster.begin();
    cluster.skipped();
    await startUp({
      ...this.#ports,
      recovered,
      lifecycle,
      hosting: cluster.hosting,
      trash,
      feed,
      catalog,
      isFounding: () => cluster.isFounding,
      note: (binding) => cluster.known(binding),
      turn: (work) => this.#turns.run(work),
      until: (isDone) => this.#turns.until(isDone),
    });
    cluster.lookForCompany();
    this.#parts.catchUp.begin(lifecycle.openGroups, this.#ports.monotonicMs());
  }

  #clearTrash(nowMs: number): void {
    // A machine that still looks into the store for an entry of a deleted database must find what it looks for.
    if (!this.#parts.trash.isDue(nowMs) || this.#parts.apply.isAnswering) return;
    this.#clearing = this.#parts.trash.run();
    this.#turns.keep(this.#clearing);
  }

  async #checkpoint(): Promise<void> {
    await this.#parts.checkpointer.run();
    this.#turns.run(() => undefined);
  }

  /** What every turn ends with. */
  #endTurn(): void {
    const { snapshots, leadership, cluster, reads, replication, feed, forwards, apply, reporter, warmer } = this.#parts;
    snapshots.advance();
    this.#parts.divergences.settle();
    leadership.settle();
    cluster.settle();
    reads.settle();
    replication.answer();
    feed.flush();
    forwards.flush();
    replication.flush();
    apply.apply();
    // Whoever waits for an outcome has it before the rows are put together.
    reporter.flush();
    apply.write();
    const warming = warmer.begin();
    if (warming !== undefined) this.#turns.keep(warming);
  }
}

function describeComponents(known: ReadonlyMap<string, string | undefined>): DescribedComponents {
  const digests = [...known.keys()].toSorted();
  return {
    components: digests.filter((digest) => known.get(digest) === undefined),
    refused: digests.flatMap((digest) => {
      const fault = known.get(digest);
      return fault === undefined ? [] : [{ digest, fault }];
    }),
  };
}

function isOfCatalog({ group }: { readonly group: GroupId }): boolean {
  return group === CATALOG_GROUP;
}

function rowsOf({ beats, answers }: HeardTables): readonly Envelope[] {
  return [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? [])];
}
