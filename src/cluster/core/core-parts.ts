/**
 * Creates the parts of a core and connects them.
 *
 * A part gets those that were created before it. Many parts depend on each other, so the others are looked up when they
 * are called, through `shared`; nothing calls them while the parts are being created.
 */
import { CATALOG_GROUP, type DatabaseError, type GroupId, type NodeId } from '#base';
import { everybody, type Input } from '#raft';
import type { DiskLevel, RecoveredLog } from '#storage';
import { AdminRequests, type AdminRequestsPorts } from '../admin/admin-requests.ts';
import { knownLevel } from '../admin/levels.ts';
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
import { type AppliedTail, Replication } from '../group/remote-members.ts';
import { RestingGroups } from '../group/resting-groups.ts';
import type { CatalogMachine } from '../machine.ts';
import type { ForwardItem } from '../peer/forward.ts';
import type { SpreadView } from '../placement/placement.ts';
import { nodeViews } from '../placement/spread.ts';
import { Reporter } from '../reporter.ts';
import { Forwards } from '../requests/forwards.ts';
import { Intake } from '../requests/proposals.ts';
import { Snapshots } from '../snapshots/snapshots.ts';
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
  readonly admin: AdminRequests;
  readonly steps: GroupSteps;
  readonly rest: RestingGroups;
  readonly written: WrittenRows;

  constructor(ports: CorePartsPorts, recovered: RecoveredLog) {
    const { limits, random, machines, monotonicMs, observer } = ports;
    const asking = new AskingPace(limits.campaignsMax);
    const seed = (): number => random.bytes(SEED_BYTES).reduce((value, byte) => (value << 8) | byte, 0);
    this.#ports = ports;
    this.timers = new GroupTimers(asking);
    this.memory = new NodeMemory(limits.memoryBytesMax, () => this.totals.logBytes);
    this.feed = new LogFeed(ports.log, knownLevel(ports), monotonicMs);
    this.trash = new Trash({ ...ports, cleared: (group) => this.#cleared(group) });
    const { reporter, timers, catchUp, memory, feed, trash } = this;
    const shared = {
      ...ports,
      asking,
      reporter,
      timers,
      catchUp,
      memory,
      feed,
      trash,
      parts: this,
      seed,
      step: (group: Group, input: Input): void => this.steps.step(group, input),
      touch: (id: GroupId): Group | undefined => this.lifecycle.touch(id),
      find: (id: GroupId): Group | undefined => this.lifecycle.find(id),
      absence: (id: GroupId): DatabaseError => this.lifecycle.absence(id),
      isKnown: (id: NodeId): boolean => this.cluster.isKnown(id),
      isLeaving: (id: NodeId): boolean => this.cluster.departures.isLeaving(id),
      clockFar: (): number | undefined => this.cluster.clocks.farMs,
      catalog: (): CatalogMachine => this.catalog,
      level: (): number => this.catalog.level,
      view: (): SpreadView => this.#view(),
      led: (): Iterable<Group> => this.leadership.led,
      waits: (group: Group): void => this.leadership.waits(group),
      post: (to: NodeId, item: ForwardItem): void => this.forwards.post(to, item),
      tell: (to: NodeId, group: GroupId, payload: Uint8Array): void => this.forwards.tell(to, group, payload),
      opened: (group: Group, tail: AppliedTail): void => this.#opened(group, tail),
      closed: (group: Group): void => this.#closed(group),
      unopenable: (id: GroupId, failure: DatabaseError): void => this.cluster.hosting.rebuilds.abandon(id, failure),
    };
    const replication = new Replication(shared);
    const apply = new ApplyLoop(shared);
    const lifecycle = new Lifecycle(shared, recovered.groups);
    const forwards = new Forwards({ ...shared, lifecycle, session: seed() >>> 0 });
    const intake = new Intake({ ...shared, forwards });
    const reads = new ReadBarrier(shared);
    const leadership = new Leadership({ ...shared, reads, intake });
    const divergences = new Divergences({ ...shared, leadership });
    this.replication = replication;
    this.apply = apply;
    this.snapshots = new Snapshots({ ...shared, apply });
    this.checkpointer = new Checkpointer(shared);
    this.lifecycle = lifecycle;
    this.forwards = forwards;
    this.intake = intake;
    this.reads = reads;
    this.leadership = leadership;
    this.campaigns = new Campaigns((result) => observer.campaignFailed(result));
    this.divergences = divergences;
    this.histories = new Histories({ ...shared, divergences });
    this.cluster = new ClusterWork({ ...shared, lifecycle, replication });
    this.admin = new AdminRequests({ ...shared, ...this.#described() });
    this.steps = new GroupSteps(ports, this);
    this.rest = new RestingGroups({ ...shared, replication });
    this.written = new WrittenRows(ports, this);
    this.catalog = machines.openCatalog(ports.kv, ports.founders);
  }

  /** The state of this node for operators. */
  #described(): Pick<AdminRequestsPorts, 'isPast' | 'clockStanding' | 'unapplied' | 'diverged'> {
    return {
      isPast: (name) => this.cluster.fence.isPast(name),
      clockStanding: () => this.cluster.clocks.standing,
      unapplied: () => this.totals.levels.committedIndex - this.totals.levels.appliedIndex,
      diverged: () =>
        Array.from(this.divergences.known, ({ group, reason }) => {
          return { node: this.#ports.node, group, title: this.lifecycle.titleOf(group), reason };
        }),
    };
  }

  /** The view for placing new databases, whose cost does not depend on the number of databases. */
  #view(): SpreadView {
    const { monotonicMs, upkeep } = this.#ports;
    const isLeaving = (id: NodeId): boolean => this.cluster.departures.isLeaving(id);
    const time = { nowMs: monotonicMs(), replaceAfterMs: upkeep?.replaceAfterMs, isLeaving };
    const nodes = nodeViews(this.catalog, this.lifecycle.find(CATALOG_GROUP), time);
    return { nodes, loads: this.catalog.copies };
  }

  #opened(group: Group, tail: AppliedTail): void {
    this.timers.review(group);
    this.replication.opened(group, tail);
    this.totals.opened(group.raft);
    this.warmer.add(group);
    this.divergences.opened(group);
    if (!everybody(group.raft.membership).includes(group.self)) this.catchUp.began(group);
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

  async #cleared(group: GroupId): Promise<void> {
    await this.cluster.hosting.cleared(group);
    this.#ports.turns.run(() => undefined);
  }
}
