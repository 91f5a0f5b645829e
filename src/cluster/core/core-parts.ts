/**
 * Creates the parts of a core and connects them.
 *
 * Many parts depend on each other, so each gets functions that look the other one up when they are called; nothing
 * calls them while the parts are being created.
 */
import { CATALOG_GROUP, type DatabaseError, type GroupId, type NodeId } from '#base';
import type { Input } from '#raft';
import type { DiskLevel, RecoveredLog } from '#storage';
import { ApplyLoop } from '../apply/apply-loop.ts';
import { AskingPace } from '../group/asking-pace.ts';
import { Campaigns } from '../group/campaigns.ts';
import { Divergences } from '../group/divergences.ts';
import type { Group } from '../group/group.ts';
import { GroupTimers } from '../group/group-timers.ts';
import { Histories } from '../group/histories.ts';
import { Leadership } from '../group/leadership.ts';
import { NodeMemory } from '../group/node-memory.ts';
import { ReadBarrier } from '../group/read-barrier.ts';
import { type AppliedTail, Replication } from '../group/replication.ts';
import { RestingGroups } from '../group/resting-groups.ts';
import type { CatalogMachine, DurableMark } from '../machine.ts';
import type { DescribedDivergence } from '../orders/describe.ts';
import { knownLevel } from '../orders/levels.ts';
import type { SpreadView } from '../placement/placement.ts';
import { spreadView } from '../placement/spread.ts';
import { Reporter } from '../reporter.ts';
import { Forwards, type ForwardsPorts } from '../requests/forwards.ts';
import { Intake } from '../requests/proposals.ts';
import { Snapshots } from '../snapshots/snapshots.ts';
import type { CheckedPart } from '../state-transfer.ts';
import { CatchUp } from './catch-up.ts';
import { Checkpointer } from './checkpoint.ts';
import { ClusterWork } from './cluster-work.ts';
import type { CorePorts } from './core-ports.ts';
import { Lifecycle } from './group-lifecycle.ts';
import { GroupSteps } from './group-steps.ts';
import { LogFeed } from './log-feed.ts';
import { RaftTotals } from './raft-totals.ts';
import { Trash } from './trash.ts';
import type { Turns } from './turns.ts';
import { Warmer } from './warmer.ts';
import { WrittenRows } from './written-rows.ts';

const SEED_BYTES = 4;

export interface CorePartsPorts extends CorePorts {
  readonly turns: Turns;
  readonly disk: () => DiskLevel;
}

export class CoreParts {
  readonly #ports: CorePartsPorts;
  readonly catalog: CatalogMachine;
  readonly reporter: Reporter = new Reporter((token, error) => this.forwards.refused(token, error));
  readonly timers: GroupTimers;
  readonly totals: RaftTotals = new RaftTotals();
  readonly warmer: Warmer = new Warmer();
  readonly catchUp: CatchUp = new CatchUp();
  readonly memory: NodeMemory;
  readonly feed: LogFeed;
  readonly replication: Replication;
  readonly snapshots: Snapshots;
  readonly apply: ApplyLoop;
  readonly checkpointer: Checkpointer;
  readonly trash: Trash;
  readonly lifecycle: Lifecycle;
  readonly forwards: Forwards;
  readonly intake: Intake;
  readonly reads: ReadBarrier;
  readonly leadership: Leadership;
  readonly campaigns: Campaigns;
  readonly divergences: Divergences;
  readonly histories: Histories;
  readonly cluster: ClusterWork;
  readonly steps: GroupSteps;
  readonly rest: RestingGroups;
  readonly written: WrittenRows;

  constructor(ports: CorePartsPorts, recovered: RecoveredLog) {
    const { node, kv, limits, machines, clock, random, placement, syncStore, monotonicMs, disk } = ports;
    const { reporter } = this;
    const asking = new AskingPace(limits.campaignsMax);
    const timers = new GroupTimers(asking);
    this.timers = timers;
    const step = (group: Group, input: Input): void => this.steps.step(group, input);
    const touch = (id: GroupId): Group | undefined => this.lifecycle.touch(id);
    const seed = (): number => random.bytes(SEED_BYTES).reduce((value, byte) => (value << 8) | byte, 0);
    const absence = (id: GroupId): DatabaseError => this.lifecycle.absence(id);
    const opened = (group: Group, tail: AppliedTail): void => this.#opened(group, tail);
    const waits = (group: Group): void => this.leadership.waits(group);
    this.#ports = ports;
    this.memory = new NodeMemory(limits.memoryBytesMax, () => this.totals.logBytes);
    const { memory } = this;
    this.feed = new LogFeed(ports.log, knownLevel(ports), monotonicMs);
    const isKnown = (id: NodeId): boolean => this.cluster.isKnown(id);
    const isLeaving = (id: NodeId): boolean => this.cluster.departures.isLeaving(id);
    this.replication = new Replication({
      peers: ports.peers,
      limits,
      timers,
      asking,
      isLeaving,
      touch,
      step,
      monotonicMs,
      isKnown,
      disk,
      taken: (group, envelope) => this.catchUp.heard(group, envelope),
    });
    this.apply = this.#applyLoop(step);
    this.snapshots = this.#snapshotTransfers(step, touch);
    const record = (group: Group, mark: DurableMark): void => this.feed.checkpoint(group.id, mark);
    this.checkpointer = new Checkpointer({ limits, syncStore, record });
    this.trash = new Trash({ ...ports, cleared: (group) => this.#cleared(group) });
    this.lifecycle = new Lifecycle(
      { node, kv, machines, limits, reporter, monotonicMs, seed, step, waits, waiting: memory.waiting, opened },
      recovered.groups,
    );
    const requests = { reporter, touch, absence, monotonicMs, step };
    this.forwards = new Forwards({ ...ports, ...this.#forwarding(), session: seed() >>> 0, ...requests });
    const { forwards } = this;
    const world = { clock, random, placement, view: () => this.#view(), level: () => this.catalog.level, disk };
    const clockFar = (): number | undefined => this.cluster.clocks.farMs;
    this.intake = new Intake({ machines, limits, forwards, memory, clockFar, ...world, ...requests });
    this.reads = new ReadBarrier({ ...requests, limits });
    const { reads, intake } = this;
    this.leadership = new Leadership({
      limits,
      reporter,
      monotonicMs,
      timers,
      reads,
      passOn: (group) => intake.passOn(group),
      release: (group) => intake.release(group),
      isLeaving,
      step,
    });
    this.campaigns = new Campaigns((result) => ports.observer.campaignFailed(result));
    this.divergences = this.#divergedReplicas(step);
    this.histories = this.#comparedHistories(step);
    this.cluster = this.#clusterWork(step);
    this.steps = new GroupSteps(ports, this);
    this.rest = this.#restingGroups(step);
    this.written = new WrittenRows(ports, this);
    this.catalog = machines.openCatalog(kv, ports.founders);
  }

  #applyLoop(step: GroupSteps['step']): ApplyLoop {
    const { turns, limits } = this.#ports;
    return new ApplyLoop({
      ...this.#ports,
      step,
      installed: (group, part) => this.#installed(group, part),
      installWritten: (group, mark) => this.snapshots.written(group, mark),
      change: (change, turn) => this.cluster.change(change, turn),
      passedOver: (group, lost) => this.forwards.passedOver(group, lost),
      told: (settlements) => this.reporter.settle(settlements),
      written: (turn, elapsedMs) => {
        this.written.tell(turn, elapsedMs);
        turns.end();
      },
      answered: () => turns.end(),
      isFollowed: () => this.reporter.isFollowed,
      retainedBytesMax: () => this.memory.retainedBelow(limits.retainedBytesMax),
      again: () => turns.again(),
      keep: (work) => turns.keep(work),
    });
  }

  #snapshotTransfers(step: GroupSteps['step'], touch: Lifecycle['touch']): Snapshots {
    const { turns } = this.#ports;
    return new Snapshots({
      ...this.#ports,
      step,
      touch,
      keep: (work) => turns.keep(work),
      again: () => turns.again(),
      turn: (work) => turns.run(work),
      install: (group, parts) => this.apply.onInstall(group, parts),
      begin: (group, mark, snapshot) => this.feed.begin(group, mark, snapshot),
    });
  }

  #divergedReplicas(step: GroupSteps['step']): Divergences {
    const { kv, turns } = this.#ports;
    return new Divergences({
      kv,
      reporter: this.reporter,
      step,
      giveUpIn: (group) => this.leadership.giveUpIn(group),
      keep: (work) => turns.keep(work),
    });
  }

  #comparedHistories(step: GroupSteps['step']): Histories {
    return new Histories({
      ...this.#ports,
      step,
      find: (id) => this.lifecycle.find(id),
      level: () => this.catalog.level,
      post: (to, item) => this.forwards.post(to, item),
      found: (group, leader, reason) => this.divergences.found(group, leader, reason),
    });
  }

  #restingGroups(step: GroupSteps['step']): RestingGroups {
    const { replication, timers, lifecycle } = this;
    return new RestingGroups({
      limits: this.#ports.limits,
      timers,
      step,
      find: (id) => lifecycle.find(id),
      deliver: (from, envelope) => replication.deliver(from, envelope),
      recite: (to, refrains) => replication.outbox.recite(to, refrains),
    });
  }

  #clusterWork(step: GroupSteps['step']): ClusterWork {
    return new ClusterWork({
      ...this.#ports,
      catalog: () => this.catalog,
      lifecycle: this.lifecycle,
      trash: this.trash,
      feed: this.feed,
      step,
      tell: (to, group, payload) => this.forwards.tell(to, group, payload),
      post: (to, item) => this.forwards.post(to, item),
      settled: (settlements) => this.reporter.settle(settlements),
      led: () => this.leadership.led,
      closed: (group) => this.#closed(group),
      begun: (binding) => this.replication.begin(binding, this.#ports.monotonicMs()),
    });
  }

  /** Checks for messages of other nodes. */
  #forwarding(): Pick<ForwardsPorts, 'isKnown' | 'titles' | 'fence' | 'departing' | 'clock' | 'compared' | 'held'> {
    return {
      held: this.memory.forwarded,
      isKnown: (id) => this.cluster.isKnown(id),
      titles: this.lifecycle,
      fence: (from, item) => this.cluster.fence.take(from, item),
      departing: (from, item) => this.cluster.departures.heard(from, item),
      clock: (from, item) => this.cluster.clocks.heard(from, item),
      compared: (from, item) => this.histories.take(from, item),
    };
  }

  /** The diverged replicas of this node, for operators. */
  describeDiverged(): readonly DescribedDivergence[] {
    const { node } = this.#ports;
    return Array.from(this.divergences.known, ({ group, reason }) => {
      return { node, group, title: this.lifecycle.titleOf(group), reason };
    });
  }

  /** The view for placing new databases. */
  #view(): SpreadView {
    const { monotonicMs, upkeep } = this.#ports;
    const isLeaving = (id: NodeId): boolean => this.cluster.departures.isLeaving(id);
    const time = { nowMs: monotonicMs(), replaceAfterMs: upkeep?.replaceAfterMs, isLeaving };
    return spreadView(this.catalog, this.lifecycle.find(CATALOG_GROUP), time);
  }

  #opened(group: Group, tail: AppliedTail): void {
    this.timers.review(group);
    this.replication.opened(group, tail);
    this.totals.opened(group.raft);
    this.warmer.add(group);
    this.divergences.opened(group);
  }

  #closed(closed: Group): void {
    this.leadership.forget(closed);
    this.campaigns.forget(closed);
    this.divergences.closed(closed);
    this.histories.forget(closed);
    this.cluster.forget(closed);
    this.replication.closed(closed);
    this.apply.closed(closed);
    this.totals.closed(closed.raft);
  }

  #installed(group: Group, part: CheckedPart): void {
    if (group.id === CATALOG_GROUP) this.cluster.skipped();
    this.snapshots.installed(group, part);
  }

  async #cleared(group: GroupId): Promise<void> {
    await this.cluster.hosting.cleared(group);
    this.#ports.turns.run(() => undefined);
  }
}
