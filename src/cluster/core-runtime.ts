/**
 * The core: every group of this node in one object without threads, timers or clocks of its own.
 *
 * Whoever drives it calls `send` with the front's commands, `tick` when `deadlineMs` has passed, and `drain` once; it
 * hears reports and, at most once, a failure. Between those calls it works only when the log or the store answers.
 *
 * Every way in ends its turn the same way: what is to be persisted goes to the log as one append, what is ready is
 * applied, the front gets one report, and the next batch of the store is written.
 */
import { CATALOG_GROUP, type DatabaseError, type GroupId, type NodeId } from '#base';
import type { Fact, Input, Membership } from '#raft';
import type { BatchId, DiskLevel, PersistedFacts, RecoveredLog } from '#storage';
import { ApplyLoop } from './apply-loop.ts';
import type { ApplyTurn } from './apply-turn.ts';
import type { CatalogState } from './catalog-mirror.ts';
import { Checkpointer } from './checkpoint.ts';
import { ClusterWork } from './cluster-work.ts';
import type { CorePorts } from './core-ports.ts';
import type { NodeOrder } from './decommission.ts';
import type { ClusterDescription } from './describe.ts';
import { carryOut, type EffectHandlers } from './effects.ts';
import { Forwards, type ForwardsPorts } from './forwards.ts';
import type { Freshness } from './freshness.ts';
import type { Group } from './group.ts';
import { type AppliedTail, Lifecycle } from './group-lifecycle.ts';
import { GroupTimers } from './group-timers.ts';
import { Leadership } from './leadership.ts';
import { checkLevels, type FinalizeAnswer, type FinalizeOrder, knownLevel } from './levels.ts';
import type { Commands, CoreLink, Report } from './link.ts';
import { LogFeed } from './log-feed.ts';
import type { CatalogMachine, DurableMark } from './machine.ts';
import type { OrderAnswer } from './node-orders.ts';
import type { CoreLevels } from './observer.ts';
import type { NodeRegistration } from './outcome.ts';
import type { Envelope } from './peer/envelope.ts';
import type { ForwardItem } from './peer/forward.ts';
import type { SnapshotLetter } from './peer/snapshot-letter.ts';
import { isOfCluster } from './peers.ts';
import type { PlacementView } from './placement.ts';
import { Intake } from './proposals.ts';
import { RaftTotals } from './raft-totals.ts';
import { ReadBarrier } from './read-barrier.ts';
import type { Registration } from './registrar.ts';
import { Replication } from './replication.ts';
import { Reporter } from './reporter.ts';
import { Snapshots } from './snapshots.ts';
import { placementView } from './spread.ts';
import { startUp } from './startup.ts';
import type { CheckedPart } from './state-transfer.ts';
import { Trash } from './trash.ts';
import { Turns } from './turns.ts';
import { Warmer } from './warmer.ts';

const SEED_BYTES = 4;

export class CoreRuntime implements CoreLink {
  readonly #ports: CorePorts;
  readonly #catalog: CatalogMachine;
  readonly #reporter = new Reporter((token, error) => this.#forwards.refused(token, error));
  readonly #timers = new GroupTimers();
  readonly #totals = new RaftTotals();
  readonly #warmer = new Warmer();
  readonly #feed: LogFeed;
  readonly #replication: Replication;
  readonly #snapshots: Snapshots;
  readonly #apply: ApplyLoop;
  readonly #checkpointer: Checkpointer;
  readonly #trash: Trash;
  readonly #lifecycle: Lifecycle;
  readonly #forwards: Forwards;
  readonly #intake: Intake;
  readonly #reads: ReadBarrier;
  readonly #leadership: Leadership;
  readonly #cluster: ClusterWork;
  readonly #handlers: EffectHandlers;
  readonly #turns: Turns;
  #clearing: Promise<void> | undefined;
  #disk: DiskLevel = 'open';

  /** Recovers, takes the lead of every group that was behind, and is then where the last process stopped. */
  static async open(ports: CorePorts, recovered: RecoveredLog): Promise<CoreRuntime> {
    checkLevels(ports, recovered);
    const core = new CoreRuntime(ports, recovered);
    await core.#recover(recovered);
    return core;
  }

  private constructor(ports: CorePorts, recovered: RecoveredLog) {
    const { node, kv, limits, machines, clock, random, placement, syncStore, monotonicMs } = ports;
    const disk = (): DiskLevel => this.#disk;
    const reporter = this.#reporter;
    const step = (group: Group, input: Input): void => this.#step(group, input);
    const touch = (id: GroupId): Group | undefined => this.#lifecycle.touch(id);
    const seed = (): number => random.bytes(SEED_BYTES).reduce((value, byte) => (value << 8) | byte, 0);
    const absence = (id: GroupId): DatabaseError => this.#lifecycle.absence(id);
    const opened = (group: Group, tail: AppliedTail): void => this.#opened(group, tail);
    const turns = new Turns({ later: ports.later, end: () => this.#endTurn() });
    const keep = (work: Promise<void>): void => turns.keep(work);
    const again = (): void => turns.again();
    this.#ports = ports;
    this.#turns = turns;
    this.#feed = new LogFeed(ports.log, knownLevel(ports));
    this.#replication = new Replication({ peers: ports.peers, limits, timers: this.#timers, touch, step });
    this.#apply = new ApplyLoop({
      kv,
      limits,
      step,
      installed: (group, part) => this.#installed(group, part),
      installWritten: (group, mark) => this.#snapshots.written(group, mark),
      change: (change, turn) => this.#cluster.change(change, turn),
      told: (settlements) => reporter.settle(settlements),
      written: (turn, elapsedMs) => this.#written(turn, elapsedMs),
      answered: () => turns.end(),
      isFollowed: () => reporter.isFollowed,
      again,
      monotonicMs,
      keep,
    });
    this.#snapshots = new Snapshots({
      ...ports,
      step,
      touch,
      keep,
      again,
      turn: (work) => turns.run(work),
      install: (group, parts) => this.#apply.onInstall(group, parts),
      begin: (group, mark, snapshot) => this.#feed.begin(group, mark, snapshot),
    });
    const record = (group: Group, mark: DurableMark): void => this.#feed.checkpoint(group.id, mark);
    this.#checkpointer = new Checkpointer({ limits, syncStore, record });
    this.#trash = new Trash({ ...ports, cleared: (group) => this.#cleared(group) });
    this.#lifecycle = new Lifecycle(
      { node, kv, machines, limits, reporter, monotonicMs, seed, step, opened },
      recovered.groups,
    );
    const requests = { reporter, touch, absence, monotonicMs, step };
    const forwards = new Forwards({ ...ports, ...this.#forwarding(), session: seed() >>> 0, ...requests });
    this.#forwards = forwards;
    const world = { clock, random, placement, view: () => this.#view(), level: () => this.#catalog.level, disk };
    this.#intake = new Intake({ machines, limits, forwards, ...world, ...requests });
    this.#reads = new ReadBarrier(requests);
    this.#leadership = new Leadership({
      limits,
      reporter,
      monotonicMs,
      timers: this.#timers,
      reads: this.#reads,
      passOn: (group) => this.#intake.passOn(group),
      step,
    });
    this.#cluster = this.#clusterWork();
    this.#handlers = this.#handleEffects();
    this.#catalog = machines.openCatalog(kv, ports.founders);
  }

  /** Every database and node, as the catalog has it applied. */
  get catalog(): CatalogState {
    return { bindings: this.#catalog.list(), nodes: this.#catalog.nodes(), level: this.#catalog.level };
  }

  /** When `tick` is next worth calling; undefined when nothing waits for time to pass. */
  get deadlineMs(): number | undefined {
    const parts = [this.#checkpointer, this.#timers, this.#trash, this.#cluster, this.#snapshots];
    const first = Math.min(...parts.map(({ deadlineMs }) => deadlineMs ?? Number.POSITIVE_INFINITY));
    return Number.isFinite(first) ? first : undefined;
  }

  /** How many groups are open, how many of those lead, and how far they are. */
  get levels(): CoreLevels {
    const { openCount } = this.#lifecycle;
    const { ledCount: ledGroups, followedCount: followedGroups } = this.#leadership;
    return { openGroups: openCount, ledGroups, followedGroups, ...this.#totals.levels };
  }

  /** Whether this node leads the group and can take writes. */
  leads(id: GroupId): boolean {
    return this.#lifecycle.find(id)?.isReady ?? false;
  }

  /** Who belongs to the group as far as this node knows; undefined when it is not open here. */
  membershipOf(id: GroupId): Membership | undefined {
    return this.#lifecycle.find(id)?.raft.membership;
  }

  onReport(listener: (report: Report) => void): void {
    this.#reporter.onReport(listener);
  }

  /** Calls the listener once, when the core can go on no more. It does nothing afterwards: the process must end. */
  onFailure(listener: (failure: Error) => void): void {
    this.#turns.onFailure(listener);
  }

  send(commands: Commands): void {
    this.#turns.run(() => {
      this.#reporter.follow(commands.follows);
      if (commands.shown > 0) this.#cluster.fence.shownHere(commands.shown);
      this.#intake.take(commands);
      this.#reads.take(commands.reads);
    });
  }

  tick(): void {
    this.#turns.run(() => {
      this.#apply.hurry();
      const nowMs = this.#ports.monotonicMs();
      this.#replication.campaign(nowMs);
      for (const group of this.#timers.due(nowMs)) this.#step(group, { kind: 'tick' });
      this.#cluster.tick(nowMs);
      this.#snapshots.tick(nowMs);
      this.#leadership.expire(nowMs);
      this.#intake.takeAgain(this.#forwards.expire(nowMs));
      if (this.#checkpointer.isDue(nowMs)) this.#turns.keep(this.#checkpoint());
      this.#clearTrash(nowMs);
    });
    if (!this.#turns.hasFailed) this.#reporter.flushAll();
  }

  /** Messages of another node have arrived, all that came together. What is for no replica of this node is dropped. */
  receive(from: NodeId, messages: readonly Envelope[]): void {
    if (this.#cluster.isRemoved(from)) return;
    this.#turns.hear(() => {
      for (const envelope of messages) this.#replication.deliver(from, envelope);
    });
  }

  /** Another node forwards requests, and answers those of this one. */
  forwarded(from: NodeId, items: readonly ForwardItem[]): void {
    if (this.#cluster.isRemoved(from)) return;
    this.#turns.hear(() => this.#intake.take(this.#forwards.take(from, items)));
  }

  /** Another node has sent a letter of a snapshot's transfer. */
  receiveLetter(from: NodeId, letter: SnapshotLetter): void {
    if (this.#cluster.isRemoved(from)) return;
    this.#turns.hear(() => this.#snapshots.receive(letter));
  }

  /** A node cannot be reached any more: what it was sent last may be lost, and it may have ended. */
  unreachable(node: NodeId): void {
    this.#turns.hear(() => {
      this.#forwards.unreachable(node);
      this.#replication.unreachable(node, this.#ports.monotonicMs());
    });
  }

  /** Another membership may be wanted for the group than before. */
  reviewMembership(id: GroupId): void {
    this.#turns.run(() => this.#cluster.review(id));
  }

  /** Asks the catalog to have these nodes hold the database; what becomes of it, the catalog will show. */
  place(id: GroupId, nodes: readonly NodeId[]): void {
    this.#turns.run(() => this.#cluster.place(id, nodes));
  }

  /** A store asks to be a node, or a node says where it is now. Never rejects; unanswered if the core fails. */
  register(registration: NodeRegistration, isOwn: boolean): Promise<Registration> {
    return this.#cluster.register(registration, isOwn);
  }

  /** What this node knows of the cluster, for operators. */
  describe(): Omit<ClusterDescription, 'clusterId'> {
    return this.#cluster.describe();
  }

  /** An operator asks something of a node, or of all. Never rejects; unanswered if the core fails. */
  order(order: NodeOrder | FinalizeOrder): Promise<OrderAnswer | FinalizeAnswer> {
    return this.#cluster.order(order);
  }

  /** Of databases that have lost their quorum. */
  get recoveries(): ClusterWork['recoveries'] {
    return this.#cluster.recoveries;
  }

  reportDisk(level: DiskLevel): void {
    this.#disk = level;
  }

  /**
   * Takes nothing more, answers what it has, hands over the lead of groups with other members, and makes everything
   * durable. Log and store stay open, and nothing is written to them afterwards.
   */
  async drain(): Promise<void> {
    this.#turns.run(() => {
      // The front asks for nothing any more: what is applied is written, and told, at once.
      this.#reporter.follow(true);
      this.#intake.close();
      this.#reads.close();
      this.#trash.close();
      this.#warmer.close();
      this.#snapshots.close();
      this.#cluster.close();
    });
    await this.#turns.until(() => this.#isIdle());
    const handOverMs = this.#ports.monotonicMs() + this.#ports.limits.handOverMs;
    this.#turns.run(() => this.#leadership.handOver());
    await this.#turns.until(() => !this.#leadership.leadsOthers || this.#ports.monotonicMs() >= handOverMs);
    this.#turns.closeEars();
    await Promise.all([this.#clearing, this.#warmer.running, this.#snapshots.settled(), this.#cluster.settled()]);
    while (this.#checkpointer.isDirty || !this.#apply.isIdle) {
      await Promise.all([this.#turns.until(() => this.#apply.isIdle), this.#checkpoint()]);
    }
    this.#turns.close();
  }

  async #recover(recovered: RecoveredLog): Promise<void> {
    const { log } = this.#ports;
    log.onPersisted((through, facts) => this.#turns.run(() => this.#persisted(through, facts)));
    log.onFatal((failure) => this.#turns.fail(failure));
    this.#cluster.begin();
    this.#cluster.skipped();
    await startUp({
      ...this.#ports,
      recovered,
      lifecycle: this.#lifecycle,
      hosting: this.#cluster.hosting,
      trash: this.#trash,
      feed: this.#feed,
      catalog: this.#catalog,
      note: (binding) => this.#cluster.known(binding),
      turn: (work) => this.#turns.run(work),
      until: (isDone) => this.#turns.until(isDone),
    });
  }

  async #cleared(group: GroupId): Promise<void> {
    await this.#cluster.hosting.cleared(group);
    this.#turns.run(() => undefined);
  }

  /** What databases are placed by. */
  #view(): PlacementView {
    const { monotonicMs, upkeep } = this.#ports;
    const time = { nowMs: monotonicMs(), replaceAfterMs: upkeep?.replaceAfterMs };
    return placementView(this.#catalog, this.#lifecycle.find(CATALOG_GROUP), time);
  }

  #clusterWork(): ClusterWork {
    return new ClusterWork({
      ...this.#ports,
      catalog: () => this.#catalog,
      lifecycle: this.#lifecycle,
      trash: this.#trash,
      feed: this.#feed,
      step: (group, input) => this.#step(group, input),
      tell: (to, group, payload) => this.#forwards.tell(to, group, payload),
      post: (to, item) => this.#forwards.post(to, item),
      settled: (settlements) => this.#reporter.settle(settlements),
      closed: (group) => this.#closed(group),
      begun: (binding) => this.#replication.begin(binding, this.#ports.monotonicMs()),
      turns: this.#turns,
      disk: () => this.#disk,
    });
  }

  /** Who asked how far a group must be: its clients, with numbers above 0, or this node for itself. */
  #asker(id: number): ReadBarrier | Freshness {
    return id < 0 ? this.#cluster.freshness : this.#reads;
  }

  #opened(group: Group, tail: AppliedTail): void {
    this.#timers.review(group);
    this.#replication.opened(group, tail);
    this.#totals.opened(group.raft);
    this.#warmer.add(group);
  }

  #handleEffects(): EffectHandlers {
    return {
      persist: (group, effect) => this.#feed.persist(group, effect),
      proposed: (group, effect) => this.#intake.onProposed(group, effect),
      apply: (group, entries) => {
        this.#ports.observer.committed(entries.length);
        this.#replication.applying(group, entries);
        this.#apply.onApply(group, entries);
      },
      readReady: (group, effect) => this.#asker(effect.id).onReady(group, effect),
      readRefused: (group, id, refusal) => this.#asker(id).onRefused(group, id, refusal),
      send: (group, to, message) => this.#replication.post(group, to, message),
      loadEntries: (group, effect) => this.#replication.loadEntries(group, effect),
      sendSnapshot: (group, to, term) => this.#snapshots.send(group, to, term),
      installSnapshot: (group) => this.#snapshots.install(group),
      membershipRefused: (_group, refusal) => this.#cluster.refused(refusal),
      fact: (group, fact) => this.#note(group, fact),
    };
  }

  /** Every change of a group's Raft state goes through here. A closed group has none any more (C4). */
  #step(group: Group, input: Input): void {
    if (!group.isOpen) return;
    const before = group.raft;
    const effects = group.step(input, this.#ports.monotonicMs());
    this.#timers.stepped(group);
    this.#ports.observer.stepped?.(before, input, { state: group.raft, effects });
    this.#totals.moved(before, group.raft);
    carryOut(group, effects, this.#handlers);
  }

  #note(group: Group, fact: Fact): void {
    if (fact.kind === 'became-leader') this.#ports.observer.elected();
    if (fact.kind === 'became-follower' && fact.leader !== undefined) this.#ports.observer.followed();
    this.#leadership.note(group, fact);
    this.#cluster.note(group, fact);
  }

  #persisted(through: BatchId, facts: PersistedFacts): void {
    this.#ports.observer.synced(facts);
    this.#feed.persisted(through, (group, completion) => {
      if (completion.kind === 'snapshot-installed') this.#replication.restarted(group);
      this.#step(group, completion);
    });
  }

  #closed(closed: Group): void {
    this.#leadership.forget(closed);
    this.#cluster.forget(closed);
    this.#replication.closed(closed);
    this.#totals.closed(closed.raft);
  }

  /** A batch is in the store: tells everybody who waits for its rows. */
  #written(turn: ApplyTurn, elapsedMs: number): void {
    const nowMs = this.#ports.monotonicMs();
    this.#ports.observer.written({ entryCount: turn.entryCount, elapsedMs });
    this.#show(turn);
    for (const group of turn.groups) this.#afterApply(group, turn.bytesOf(group), nowMs);
    this.#cluster.fence.settle(turn.settlements);
    this.#cluster.written(turn);
    this.#turns.end();
  }

  /** Who else may ask, and say something of the catalog. */
  #forwarding(): Pick<ForwardsPorts, 'isKnown' | 'titles' | 'fence'> {
    const catalog = (): Group | undefined => this.#lifecycle.find(CATALOG_GROUP);
    return {
      isKnown: (id) => id !== this.#ports.node && isOfCluster(id, this.#catalog, catalog()),
      titles: this.#lifecycle,
      fence: (from, item) => this.#cluster.fence.take(from, item),
    };
  }

  #installed(group: Group, part: CheckedPart): void {
    if (group.id === CATALOG_GROUP) this.#cluster.skipped();
    this.#snapshots.installed(group, part);
  }

  /** Tells the front what has changed in the catalog. */
  #show({ changes }: ApplyTurn): void {
    const catalog = this.#lifecycle.find(CATALOG_GROUP);
    if (changes.length === 0 || catalog === undefined) return;
    const { index } = catalog.written;
    this.#reporter.catalog(changes, index);
    // A front that comes later begins with the catalog as it is then.
    if (this.#reporter.isHeard) this.#cluster.fence.told(index);
  }

  #afterApply(group: Group, bytes: number, nowMs: number): void {
    if (!group.isOpen) return;
    this.#checkpointer.markDirty(group, bytes, nowMs);
    if (group.id !== CATALOG_GROUP) this.#reporter.applied({ group: group.id, revision: group.written.revision });
    this.#reads.release(group);
    if (group.isReady) this.#intake.release(group);
  }

  #clearTrash(nowMs: number): void {
    // A machine that still looks into the store for an entry of a deleted database must find what it looks for.
    if (!this.#trash.isDue(nowMs) || this.#apply.isAnswering) return;
    this.#clearing = this.#trash.run();
    this.#turns.keep(this.#clearing);
  }

  async #checkpoint(): Promise<void> {
    await this.#checkpointer.run();
    this.#turns.run(() => undefined);
  }

  #isIdle(): boolean {
    if (!this.#apply.isIdle || this.#forwards.count + this.#cluster.fence.count > 0) return false;
    return ![...this.#lifecycle.openGroups].some(({ isBusy }) => isBusy);
  }

  /** What every turn ends with. */
  #endTurn(): void {
    this.#snapshots.advance();
    this.#leadership.settle();
    this.#cluster.settle();
    this.#replication.answer();
    this.#feed.flush();
    this.#forwards.flush();
    this.#replication.flush();
    this.#apply.apply();
    // Whoever waits for an outcome has it before the rows are put together.
    this.#reporter.flush();
    this.#apply.write();
    const warming = this.#warmer.begin();
    if (warming !== undefined) this.#turns.keep(warming);
  }
}
