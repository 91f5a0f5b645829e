// Several nodes in one thread, each with a core, a front, and a log and store that can lose unsynced data, over an
// unreliable network. Tests advance the time, and everything that can run does so at each step.
import { CATALOG_GROUP, type GroupId, LEVELS, type LevelRange, type NodeId, toNodeId } from '#base';
import {
  type Binding,
  type ClusterPorts,
  type CoreLimits,
  type CorePorts,
  CoreRuntime,
  FrontNode,
  LIMITS,
  type Machines,
  nativeCrc32,
  type TransactOutcome,
} from '#cluster';
import type { Input, Step } from '#raft';
import type { DiskLevel } from '#storage';
import type { LostCampaign } from '../../../src/cluster/group/campaigns.ts';
import type { Commands, CoreLink, HistoryNote, Report } from '../../../src/cluster/link.ts';
import { type Draw, seededDraw } from '../log-model.ts';
import { clusterOf, unobservedSnapshots } from './core-parts.ts';
import { LossyKv } from './lossy-kv.ts';
import { databaseKit, FreshNames } from './machine-kit.ts';
import { MemoryLog } from './memory-log.ts';
import { MemoryNetwork } from './memory-network.ts';

export interface ReplicaWorldOptions {
  /** Release of all first processes; default this release. */
  readonly release?: Release | undefined;
  readonly seed?: number;
  readonly limits?: Partial<CoreLimits>;
  /** Called for every Raft step of every group. */
  readonly stepped?: (node: NodeId, input: Input, after: Step) => void;
  /** Cluster configuration of each core; by default every node has a replica of every database. */
  readonly cluster?: (nodes: readonly NodeId[], node: NodeId) => ClusterPorts;
}

interface Due {
  readonly atMs: number;
  readonly work: () => void;
}

interface Process {
  readonly core: CoreRuntime;
  readonly front: FrontNode;
  readonly link: StallingLink;
}

/**
 * The connection of a front to its core. While stalled, it queues the reports of the core and delivers them later in
 * order.
 */
class StallingLink implements CoreLink {
  readonly #core: CoreRuntime;
  #listener: (report: Report) => void = () => undefined;
  #kept: Report[] | undefined;

  constructor(core: CoreRuntime) {
    this.#core = core;
    core.onReport((report) => {
      if (this.#kept === undefined) this.#listener(report);
      else this.#kept.push(report);
    });
  }

  get isAlone(): boolean {
    return this.#core.isAlone;
  }

  send(commands: Commands): void {
    this.#core.send(commands);
  }

  onReport(listener: (report: Report) => void): void {
    this.#listener = listener;
  }

  reportDisk(level: DiskLevel): void {
    this.#core.reportDisk(level);
  }

  runs(digest: string): void {
    this.#core.runs(digest);
  }

  leave(withinMs: number): Promise<void> {
    return this.#core.leave(withinMs);
  }

  drain(): Promise<void> {
    return this.#core.drain();
  }

  stall(): void {
    this.#kept ??= [];
  }

  resume(): void {
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    for (const report of kept) this.#listener(report);
  }
}

const STEP_MS = 10;
const TICK_MS = 50;

/** Release of a process. */
export interface Release {
  readonly machines: Machines;
  readonly levels: LevelRange;
}

export class ReplicaWorld {
  readonly network: MemoryNetwork;
  readonly nodes: readonly NodeId[];
  readonly names: FreshNames = new FreshNames();
  readonly draw: Draw;
  readonly failures: Error[] = [];
  /** Reasons of failed snapshot transfers. */
  readonly snapshotFaults: string[] = [];
  nowMs = 1_000_000;
  readonly #options: ReplicaWorldOptions;
  readonly #members: ReadonlyMap<NodeId, WorldNode>;
  #due: Due[] = [];
  #tickMs = 0;

  constructor(count: number, options: ReplicaWorldOptions = {}) {
    this.#options = options;
    this.draw = seededDraw(options.seed ?? 1);
    this.network = new MemoryNetwork({
      after: (delayMs, work) => this.#due.push({ atMs: this.nowMs + delayMs, work }),
      draw: this.draw,
      crc32: nativeCrc32,
    });
    this.nodes = Array.from({ length: count }, (_, at) => toNodeId(at + 1));
    this.#members = new Map(this.nodes.map((node) => [node, new WorldNode(this, node, options.release)]));
  }

  static async started(count: number, options: ReplicaWorldOptions = {}): Promise<ReplicaWorld> {
    const world = new ReplicaWorld(count, options);
    for (const node of world.nodes) await world.at(node).start();
    return world;
  }

  at(node: NodeId): WorldNode {
    const found = this.#members.get(node);
    if (found === undefined) throw new Error(`There is no node ${node}`);
    return found;
  }

  get up(): readonly WorldNode[] {
    return [...this.#members.values()].filter((member) => member.isUp);
  }

  /** Ports of the core of a node, with its limits. */
  portsOf(node: NodeId): ClusterPorts & Pick<CorePorts, 'limits'> {
    const { cluster = clusterOf, limits } = this.#options;
    return { ...cluster(this.nodes, node), limits: { ...LIMITS, ...limits } };
  }

  /** The leader of the group; undefined when several nodes consider themselves leader, or none. */
  leaderOf(group: GroupId): WorldNode | undefined {
    const leaders = this.up.filter((member) => member.leads(group));
    return leaders.length === 1 ? leaders[0] : undefined;
  }

  stepped(node: NodeId, input: Input, after: Step): void {
    this.#options.stepped?.(node, input, after);
  }

  /** Advances time in small steps, and runs what is due at each. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    while (this.nowMs < endMs) {
      this.nowMs = Math.min(endMs, this.nowMs + STEP_MS);
      await this.#step();
    }
  }

  /** Advances time until the condition holds, for at most `msMax`. */
  async until(isDone: () => boolean, whatFor: string, msMax = 20_000): Promise<void> {
    const endMs = this.nowMs + msMax;
    while (!isDone()) {
      if (this.nowMs >= endMs) throw new Error(`After ${msMax} ms there is still not: ${whatFor}`);
      await this.pass(STEP_MS);
    }
  }

  /** Awaits the answer to a request while time advances. */
  async answer<Answer>(asked: Promise<Answer>): Promise<Answer> {
    let isDone = false;
    const done = asked.finally(() => void (isDone = true));
    done.catch(() => undefined);
    await this.until(() => isDone, 'an answer');
    return done;
  }

  /** Waits for a leader of the group that accepts writes. */
  async leader(group: GroupId): Promise<WorldNode> {
    await this.until(() => this.leaderOf(group) !== undefined, `a leader of group ${group}`);
    const leader = this.leaderOf(group);
    if (leader === undefined) throw new Error('There was a leader a moment ago');
    return leader;
  }

  /** Creates a database through the leader of the catalog. */
  async create(name: string = 'shop'): Promise<Binding> {
    const { front } = await this.leader(CATALOG_GROUP);
    return (await this.answer(front.createDatabase(name))).binding;
  }

  async #step(): Promise<void> {
    const due = this.#due.filter(({ atMs }) => atMs <= this.nowMs).toSorted((one, other) => one.atMs - other.atMs);
    this.#due = this.#due.filter(({ atMs }) => atMs > this.nowMs);
    for (const { work } of due) work();
    if (this.nowMs >= this.#tickMs) {
      this.#tickMs = this.nowMs + TICK_MS;
      for (const member of this.up) member.core.tick();
    }
    await quiet();
  }
}

export class WorldNode {
  readonly node: NodeId;
  log: MemoryLog = new MemoryLog();
  kv: LossyKv = new LossyKv();
  /** Offset of its wall clock from that of the world. */
  clockAheadMs = 0;
  /** Disk level that the front reads. `reportDisk` sets that of the core. */
  disk: DiskLevel = 'open';
  /** Release of the next process; undefined for that of all nodes. */
  release: Release | undefined;
  /** Failed attempts of the node to become leader of a group, in order. */
  readonly lostCampaigns: LostCampaign[] = [];
  /** Facts about histories that its processes have found. */
  readonly historyNotes: HistoryNote[] = [];
  readonly #world: ReplicaWorld;
  #process: Process | undefined;

  constructor(world: ReplicaWorld, node: NodeId, release: Release | undefined) {
    this.#world = world;
    this.node = node;
    this.release = release;
  }

  get isUp(): boolean {
    return this.#process !== undefined;
  }

  get core(): CoreRuntime {
    return this.#running.core;
  }

  get front(): FrontNode {
    return this.#running.front;
  }

  leads(group: GroupId): boolean {
    return this.#process?.core.leads(group) ?? false;
  }

  async start(): Promise<void> {
    const { kv, log, node } = this;
    const { network, draw, failures } = this.#world;
    const isAlive = (): boolean => this.log === log && this.isUp;
    const ports: CorePorts = {
      ...this.#world.portsOf(node),
      kv,
      syncStore: () => kv.checkpointFiles(),
      log,
      peers: network.portOf(node, isAlive),
      machines: databaseKit.machines,
      levels: LEVELS,
      ...this.release,
      clock: { nowMs: () => this.#world.nowMs + this.clockAheadMs },
      monotonicMs: () => this.#world.nowMs,
      random: { bytes: (count) => Uint8Array.from({ length: count }, () => draw(256)) },
      snapshotObserver: {
        ...unobservedSnapshots,
        snapshotEnded: ({ fault }) => fault !== undefined && this.#world.snapshotFaults.push(fault),
      },
      observer: {
        elected: noted,
        followed: noted,
        campaignFailed: (result) => this.lostCampaigns.push(result),
        committed: noted,
        synced: noted,
        written: noted,
        stepped: (_before, input, after) => this.#world.stepped(node, input, after),
      },
      later: setImmediate,
    };
    const core = await CoreRuntime.open(ports, log.recover());
    core.onFailure((failure) => failures.push(failure));
    const link = new StallingLink(core);
    const front = new FrontNode({
      link,
      reader: kv,
      identity: { clusterId: '', storeId: '', node, isLearner: ports.isLearner ?? false },
      name: `node-${node}`,
      catalog: core.catalog,
      disk: () => this.disk,
      storedRevision: (group) => databaseKit.storedRevision(kv, group),
      schedule: queueMicrotask,
      monotonicMs: () => this.#world.nowMs,
      observer: { proposed: noted, refused: noted, read: noted },
      rebuilding: core.rebuilding,
      onHistory: (note) => this.historyNotes.push(note),
      close: async () => undefined,
    });
    this.#process = { core, front, link };
    network.connect(node, core);
  }

  /** The process dies, and unsynced data is kept or lost as given; `start` starts the next one. */
  async crash(kept: { readonly torn?: number; readonly survives?: (unsynced: number) => boolean } = {}): Promise<void> {
    this.#process = undefined;
    this.log = this.log.crash(kept.torn ?? 0);
    this.kv = await this.kv.crash(kept.survives ?? (() => true));
    this.#world.network.disconnect(this.node);
  }

  /** Copies the durable content of the disks; the returned function restores it while the process is down. */
  async copyDisks(): Promise<() => void> {
    const [log, kv] = [[...this.log.durable], await this.kv.crash(() => true)];
    return () => {
      this.log = new MemoryLog(log);
      this.kv = kv;
    };
  }

  /** Holds back syncs of appended records, or resumes them. */
  holdDisk(isHeld: boolean): void {
    this.log.isAutomatic = !isHeld;
    if (!isHeld) this.log.sync();
  }

  /** Queues all reports of the core to the front, until `resume`. */
  stall(): void {
    this.#running.link.stall();
  }

  resume(): void {
    this.#running.link.resume();
  }

  transact(group: GroupId, text: string, onAdmitted?: () => void): Promise<TransactOutcome> {
    return this.front.transact(group, databaseKit.payload(text, this.#world.names.of(text)), { onAdmitted });
  }

  /** Texts of a database in the store of this node, including everything that it has answered. */
  async history(group: GroupId): Promise<readonly string[]> {
    const { front } = this;
    await this.#world.answer(front.waitFor(group, front.answered(group), new AbortController().signal));
    return databaseKit.history(this.kv, group);
  }

  get #running(): Process {
    if (this.#process === undefined) throw new Error(`Node ${this.node} is down`);
    return this.#process;
  }
}

function noted(): void {}

/** Runs everything that is ready. */
async function quiet(): Promise<void> {
  for (let round = 0; round < 4; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Three nodes with a database, and the leaders of the database and of the catalog. */
export interface Trio {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly catalog: WorldNode;
  readonly leader: WorldNode;
  readonly others: readonly [WorldNode, WorldNode];
}

export async function startTrio(options: ReplicaWorldOptions = {}): Promise<Trio> {
  const world = await ReplicaWorld.started(3, options);
  const catalog = await world.leader(CATALOG_GROUP);
  const { group } = await world.create();
  const leader = await world.leader(group);
  await world.pass(500);
  const [one, other] = world.up.filter((each) => each !== leader);
  if (one === undefined || other === undefined) throw new Error('There are three nodes');
  return { world, group, catalog, leader, others: [one, other] };
}
