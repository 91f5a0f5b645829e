// One process of a simulated node, from its start to its end: the real parts, composed as in `startNode` and its
// threads, on simulated threads, disk, store, clocks and randomness.
import {
  DatabaseError,
  type GroupId,
  type NodeId,
  type Revision,
  type Timers,
  toNodeId,
  toRevision,
  uuidBytes,
} from '#base';
import {
  type CoreLimits,
  type CorePorts,
  CoreRuntime,
  type HeldCopy,
  LIMITS,
  type Machines,
  type NodeIdentity,
  nativeSha256,
  noPeers,
} from '#cluster';
import { DatabaseReader } from '#database';
import type { KvReader } from '#kv';
import type { Membership } from '#raft';
import { createService, type ServiceLimits } from '#service';
import { DiskGuard, type DiskThresholds, type LogWriter, type WalIdentity } from '#storage';
import { CoreCounter } from '../../../src/cluster/core/observer.ts';
import { watchDisk } from '../../../src/cluster/front/disk-watch.ts';
import type { HistoryNote } from '../../../src/cluster/link.ts';
import type { LedgerStore } from '../../../src/cluster/store/ledger-store.ts';
import { settleLog } from '../../../src/cluster/store/next-log.ts';
import { clusterOf, unobservedSnapshots } from '../../support/cluster/core-parts.ts';
import type { Release } from '../../support/cluster/replica-world.ts';
import { checkStep } from '../../support/raft/step-invariants.ts';
import { withMethods } from '../../support/with-methods.ts';
import type { SimDisk } from '../disk/sim-disk.ts';
import { openLedgerStore } from '../disk/sim-ledger.ts';
import type { SimStore } from '../disk/sim-store.ts';
import { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import { quietLogger, quietMetrics } from './quiet.ts';
import { MACHINES } from './releases.ts';
import { type ClusterPlace, Seat } from './seat.ts';
import type { SimClock } from './sim-clock.ts';
import { SimFront } from './sim-front.ts';
import { SimLink } from './sim-link.ts';
import { SimLog } from './sim-log.ts';
import { SimRelay } from './sim-relay.ts';
import { type SimService, withDefine } from './sim-service.ts';

export interface ProcessParts {
  readonly simulator: Simulator;
  readonly name: string;
  readonly random: Rng;
  readonly disk: SimDisk;
  readonly store: SimStore;
  readonly clock: SimClock;
  readonly settings: ProcessSettings;
  /** Undefined for a node that no other node can join. */
  readonly place: ClusterPlace | undefined;
  /** Called when the node did something that no fault explains, and continues. */
  readonly onMisbehaviour: (what: string) => void;
  /** Called once with the reason when the process ends by itself; it is dead then. */
  readonly onFailure: (failure: unknown) => void;
}

export interface ProcessSettings {
  readonly walSegmentBytes: number;
  readonly limits: Partial<CoreLimits>;
  readonly serviceLimits: Partial<ServiceLimits>;
  readonly disk: DiskThresholds;
  /** Maximum latency of a message between two threads. */
  readonly threadUsMax: number;
  /** True when the invariants of #raft are checked after every step. */
  readonly checksSteps: boolean;
}

interface Opened {
  readonly core: CoreRuntime;
  readonly node: SimFront;
  readonly service: SimService;
  /** Undefined without other nodes. */
  readonly relay: SimRelay | undefined;
}

/** An admin request to a core. */
export type OperatorOrder = Parameters<CoreRuntime['admin']['order']>[0];

/** The answer of a core to an admin request. */
export type OrderAnswered = Awaited<ReturnType<CoreRuntime['admin']['order']>>;

type Recover = CoreRuntime['admin']['recover'];
export type RecoveryAsked = Parameters<Recover>[0];
export type RecoveryAnswered = Awaited<ReturnType<Recover>>;

export const DIRECTORY = 'data';
const TICK_US = 50_000;
const DISK_CHECK_US = 250_000;
const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const NODE = toNodeId(1);
const ALONE: NodeIdentity = { clusterId: '01', storeId: '02', node: NODE, isLearner: false };

export class NodeProcess {
  readonly front: Isolate;
  readonly core: Isolate;
  readonly log: Isolate;
  readonly #parts: ProcessParts;
  readonly #latencyUs: () => number;
  readonly #seat: Seat | undefined;
  /** Databases whose rebuild the last process may have left incomplete. */
  readonly #interrupted: ReadonlySet<GroupId>;
  /** Rows were lost before this process. */
  readonly #lacksRows: boolean;
  #opened: Opened | undefined;

  constructor(parts: ProcessParts) {
    const { simulator, name, random, settings, store } = parts;
    this.#interrupted = new Set([...store.withdrawn, ...store.noted]);
    this.#lacksRows = store.lacksRows;
    const fail = (failure: unknown): void => this.fail(failure);
    const isolate = (thread: string): Isolate =>
      new Isolate(simulator, `${name}.${thread}`, random.split(thread), fail);
    this.#parts = parts;
    this.front = isolate('front');
    this.core = isolate('core');
    this.log = isolate('log');
    const latency = random.split('threads');
    this.#latencyUs = () => latency.between(5, settings.threadUsMax);
    this.#seat = parts.place === undefined ? undefined : this.#takeSeat(parts.place);
  }

  /** Undefined until the process has started. */
  get service(): SimService | undefined {
    return this.#opened?.service;
  }

  /** Relays requests to other nodes; undefined until the process has started, and without other nodes. */
  get relay(): SimRelay | undefined {
    return this.#opened?.relay;
  }

  get node(): SimFront | undefined {
    return this.#opened?.node;
  }

  /** Requests that these nodes have the database, as an operator does. */
  place(group: GroupId, nodes: readonly NodeId[]): void {
    this.core.after(0, 'place', () => this.#opened?.core.place(group, nodes));
  }

  /** A scrub has found damage in the history of a replica. */
  damaged(group: GroupId): void {
    this.core.after(0, 'damage', () => this.#opened?.core.damaged(group));
  }

  /** Sends an admin request to the core; calls `onAnswer` unless the process ends before. */
  order(order: OperatorOrder, onAnswer: (answer: OrderAnswered) => void): void {
    this.core.after(0, 'order', () => {
      this.#opened?.core.admin.order(order).then(onAnswer, (failure: unknown) => this.fail(failure));
    });
  }

  /** The same for the recovery of a database without a quorum. */
  recover(order: RecoveryAsked, onAnswer: (answer: RecoveryAnswered) => void): void {
    this.core.after(0, 'recover', () => {
      this.#opened?.core.admin.recover(order).then(onAnswer, (failure: unknown) => this.fail(failure));
    });
  }

  /** Reads the replica of a database on this node. */
  copyOf(name: string, onAnswer: (copy: HeldCopy | undefined) => void): void {
    this.core.after(0, 'copy', () => onAnswer(this.#opened?.core.admin.copyOf(name)));
  }

  leads(group: GroupId): boolean {
    return this.#opened?.core.leads(group) ?? false;
  }

  membershipOf(group: GroupId): Membership | undefined {
    return this.#opened?.core.membershipOf(group);
  }

  /** Release of the process; undefined for a node that no other node can join. */
  get release(): Release | undefined {
    return this.#parts.place?.release;
  }

  get isAlive(): boolean {
    return this.front.isAlive;
  }

  /** Starts the process; calls `onReady` after the recovery, or `onFailure` when it refuses to start. */
  start(onReady: () => void): void {
    const { disk, front } = { disk: this.#parts.disk, front: this.front };
    disk.attach({ onCut: () => this.fail('cut'), sleep: (delayUs) => this.log.sleep(delayUs, 'disk') });
    front.after(0, 'boot', () => {
      this.#boot(onReady).catch((failure: unknown) => this.fail(failure));
    });
  }

  /** Kills the process at once. With `isSilent` the whole machine is gone, so connections are not closed. */
  kill(isSilent = false): void {
    this.#seat?.end(isSilent);
    this.relay?.leave(isSilent);
    for (const isolate of [this.front, this.core, this.log]) isolate.kill();
    this.#parts.store.endProcess();
  }

  fail(failure: unknown): void {
    if (!this.isAlive) return;
    this.kill();
    const damaged = failure instanceof DatabaseError ? failure.details.damaged : undefined;
    if (damaged !== undefined) this.#parts.store.noted.add(damaged);
    this.#parts.onFailure(failure);
  }

  async #boot(onReady: () => void): Promise<void> {
    this.#opened = await this.#open();
    onReady();
  }

  async #open(): Promise<Opened> {
    const { disk, store, random, settings } = this.#parts;
    const { walSegmentBytes, checksSteps } = settings;
    const probe = (): { availableBytes: number; capacityBytes: number } => ({
      availableBytes: disk.availableBytes,
      capacityBytes: disk.capacityBytes,
    });
    const guard = new DiskGuard(DIRECTORY, { probe, thresholds: settings.disk });
    const rows = store.openIn(this.front);
    const identity = (await this.#identity()) ?? ALONE;
    if (this.#seat !== undefined) settleLog(DIRECTORY, identity.storeId, disk.places);
    const { log, recovered } = SimLog.open({
      directory: `${DIRECTORY}/log`,
      identity: this.#seat === undefined ? IDENTITY : walIdentity(identity),
      segmentBytes: walSegmentBytes,
      disk,
      thread: this.#seat === undefined ? this.core : this.log,
      user: this.core,
      latencyUs: this.#latencyUs,
    });
    const observer = new CoreCounter();
    if (checksSteps) Object.assign(observer, { stepped: checkStep });
    const kv = await openLedgerStore(DIRECTORY, this.#parts, this.core);
    const seat = await this.#seat?.open(identity, kv);
    const ports = { ...this.#corePorts({ kv, log, observer }), ...seat };
    const machines = this.#noting(ports.machines);
    const core = await CoreRuntime.open({ ...ports, machines }, recovered);
    this.#parts.store.noted.clear();
    core.onFailure((failure) => this.fail(failure));
    this.#seat?.begin(core, (failure) => this.fail(failure));
    const { front } = this;
    const link = new SimLink({
      core,
      coreThread: this.core,
      front,
      latencyUs: this.#latencyUs,
      beforeDrain: () => this.#seat?.quieten(),
      close: async () => {
        await this.#seat?.close();
        await log.close();
      },
    });
    const look = watchDisk({ guard, link, logger: quietLogger, metrics: quietMetrics });
    every(this.core, TICK_US, 'tick', () => core.tick());
    every(front, DISK_CHECK_US, 'disk check', look);
    const node = this.#frontNode(link, core, { guard, rows, identity });
    if (this.#seat !== undefined) node.advertise({ grpc: `${this.#parts.name}:50051`, http: '' });
    const service = this.#serviceOf(node, random.split('service'));
    return { core, node, service, relay: this.#relayFor(service) };
  }

  /** Undefined for a node that no other node can join. */
  async #identity(): Promise<NodeIdentity | undefined> {
    const { disk } = this.#parts;
    if (this.#seat === undefined) return undefined;
    const hasLog = (): boolean => disk.list(`${DIRECTORY}/log`).length > 0;
    return this.#seat.identity(await openLedgerStore(DIRECTORY, this.#parts, this.front), hasLog);
  }

  #corePorts({
    kv,
    ...opened
  }: {
    readonly kv: LedgerStore;
    readonly log: LogWriter;
    readonly observer: CoreCounter;
  }): CorePorts {
    const { clock, random, settings } = this.#parts;
    const bytes = random.split('core');
    return {
      ...clusterOf([NODE], NODE),
      kv,
      syncStore: () => kv.checkpointFiles(),
      ...this.#audits(),
      ...opened,
      peers: noPeers,
      machines: MACHINES,
      limits: { ...LIMITS, ...settings.limits },
      clock,
      monotonicMs: () => clock.monotonicMs(),
      random: bytes,
      snapshotObserver: unobservedSnapshots,
      later: (work) => this.core.turn('later', work),
    };
  }

  /** Audits what crash recovery has found whole. With rows that the disk has damaged, half of the starts do so. */
  #audits(): Required<Pick<CorePorts, 'isSuspect' | 'damaged'>> {
    const { store, random } = this.#parts;
    return { isSuspect: !store.isDamaged || random.split('audit').chance(0.5), damaged: store.noted };
  }

  /** Tells the store which databases have no applied row because of a rebuild, also if this process ends in it. */
  #noting(machines: Machines): Machines {
    const { withdrawn } = this.#parts.store;
    return withMethods(machines, {
      withdraw: (kv, group, durable) => {
        withdrawn.add(group);
        return machines.withdraw(kv, group, durable);
      },
      rebuild: async (kv, binding, ...rest) => {
        const isDone = await machines.rebuild(kv, binding, ...rest);
        if (isDone) withdrawn.delete(binding.group);
        return isDone;
      },
    });
  }

  #noteRebuild(note: HistoryNote): void {
    const { simulator, name, store } = this.#parts;
    if (note.kind === 'damaged') {
      const { group, revision, fault } = note;
      if (store.spoiledFiles.length === 0) this.fail(new Error(`The history of group ${group} is whole: ${fault}`));
      simulator.note(`${name} cannot read group ${group} from revision ${revision} on: ${fault}`);
    }
    if (note.kind !== 'rebuilding') return;
    const { group, fault } = note;
    const isExplained = this.#lacksRows || store.lacksRows || this.#interrupted.has(group);
    if (fault !== undefined && !isExplained)
      this.fail(new Error(`Group ${group} must be whole, and is made again: ${fault}`));
    simulator.note(`${name} rebuilds group ${group}: ${fault ?? 'not all of its rows were synced'}`);
  }

  #frontNode(
    link: SimLink,
    core: CoreRuntime,
    opened: { readonly guard: DiskGuard; readonly rows: KvReader; readonly identity: NodeIdentity },
  ): SimFront {
    const { guard, rows, identity } = opened;
    const { clock, settings } = this.#parts;
    return new SimFront({
      link,
      reader: rows,
      identity,
      name: this.#parts.name,
      catalog: core.catalog,
      disk: () => guard.level,
      storedRevision: (group) => storedRevision(rows, group),
      rebuilding: core.rebuilding,
      onHistory: (note) => this.#noteRebuild(note),
      schedule: (flush) => this.front.turn('flush', flush),
      monotonicMs: () => clock.monotonicMs(),
      limits: { ...LIMITS, ...settings.limits },
      observer: { proposed: nothing, refused: nothing, read: nothing },
      announce: (clients) =>
        this.core.after(this.#latencyUs(), 'announce', () =>
          this.#seat?.announce(clients, (failure) => this.fail(failure)),
        ),
      close: async () => undefined,
    });
  }

  #takeSeat(place: ClusterPlace): Seat {
    const { name, clock, disk, random, onMisbehaviour } = this.#parts;
    return new Seat({
      ...place,
      name,
      disk,
      clock,
      thread: this.core,
      random: random.split('seat'),
      onDeceived: (from) => onMisbehaviour(`${name} takes a frame of ${from} in which a bit was flipped`),
      onFlaw: (what) => onMisbehaviour(`${name}: ${what}`),
      onUnknownLevel: (group, level) =>
        onMisbehaviour(`${name} applies an entry of level ${level} in group ${group}, which its release does not know`),
    });
  }

  #relayFor(service: SimService): SimRelay | undefined {
    const { name, place, clock } = this.#parts;
    if (place === undefined) return undefined;
    const end = { host: name, thread: this.front, service, fail: (failure: unknown) => this.fail(failure) };
    return new SimRelay({ end, lines: place.lines, nowMs: () => clock.monotonicMs() });
  }

  #serviceOf(node: SimFront, random: Rng): SimService {
    const { clock, settings } = this.#parts;
    const service = createService({
      node,
      clock,
      random,
      sha256: nativeSha256,
      metrics: quietMetrics,
      release: 'simulated',
      limits: settings.serviceLimits,
      timers: timersOf(this.front, clock),
      listAt: async (holder, signal) => this.relay?.list(holder, signal) ?? [],
    });
    return withDefine(service, node);
  }
}

function timersOf(thread: Isolate, clock: SimClock): Timers {
  return {
    after: (delayMs, run) => {
      let isStopped = false;
      thread.after(delayMs * 1000, 'timer', () => {
        if (!isStopped) run();
      });
      return () => void (isStopped = true);
    },
    turn: () => new Promise((resolve) => thread.turn('turn', resolve)),
    monotonicMs: () => clock.monotonicMs(),
  };
}

function every(thread: Isolate, intervalUs: number, label: string, work: () => void): void {
  thread.after(intervalUs, label, () => {
    work();
    every(thread, intervalUs, label, work);
  });
}

function walIdentity({ clusterId, storeId }: NodeIdentity): WalIdentity {
  return { clusterId: uuidBytes(clusterId), storeId: uuidBytes(storeId) };
}

/** The same as in start-node.ts: unreadable rows are reported when they are used. */
function storedRevision(kv: KvReader, group: GroupId): Revision {
  try {
    const reader = new DatabaseReader({ kv, group, sha256: nativeSha256 });
    return reader.applied()?.revision ?? toRevision(0);
  } catch {
    return toRevision(0);
  }
}

function nothing(): void {}
