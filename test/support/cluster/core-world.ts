// One node in one thread, on a simulated disk that can lose unsynced data: a core on a log and a store in memory, and a
// front on that core. Tests can crash it at any point.
import { type Clock, type GroupId, LEVELS, type LevelRange, toGroupId, toNodeId } from '#base';
import { type CoreLimits, type CorePorts, CoreRuntime, FrontNode, LIMITS, noPeers } from '#cluster';
import type { DiskLevel } from '#storage';
import type { HistoryNote } from '../../../src/cluster/link.ts';
import type { Machines } from '../../../src/cluster/machine.ts';
import { clusterOf, unobservedSnapshots } from './core-parts.ts';
import { LossyKv } from './lossy-kv.ts';
import { databaseKit, FreshNames } from './machine-kit.ts';
import { MemoryLog } from './memory-log.ts';

const NODE = toNodeId(1);

/** Data that survive a crash; default: all of them. */
interface Kept {
  readonly torn?: number;
  readonly survives?: (unsynced: number) => boolean;
  /** The process found damage of no known database, or of these. */
  readonly isSuspect?: boolean;
  readonly damaged?: ReadonlySet<GroupId>;
}

export class CoreWorld {
  log: MemoryLog;
  kv: LossyKv;
  nowMs = 1_000_000;
  #disk: DiskLevel = 'open';
  readonly failures: Error[] = [];
  /** Reasons of all refusals. */
  readonly refusals: (string | undefined)[] = [];
  readonly #limits: CoreLimits;
  #core: CoreRuntime | undefined;
  #node: FrontNode | undefined;
  readonly #random = repeatableBytes(0);

  readonly #levels: LevelRange;
  readonly #names = new FreshNames();

  constructor(limits: Partial<CoreLimits> = {}, levels: LevelRange = LEVELS) {
    this.#levels = levels;
    // Writes rows as soon as possible, so that tests see them without advancing time.
    this.#limits = { ...LIMITS, writeEntries: 1, ...limits };
    this.log = new MemoryLog();
    this.kv = new LossyKv();
  }

  static async started(limits: Partial<CoreLimits> = {}): Promise<CoreWorld> {
    const world = new CoreWorld(limits);
    await world.start();
    return world;
  }

  /** Starts a node and creates a database. */
  static async withShop(
    limits: Partial<CoreLimits> = {},
  ): Promise<{ readonly world: CoreWorld; readonly group: GroupId }> {
    const world = await CoreWorld.started(limits);
    return { world, group: await world.create('shop') };
  }

  get node(): FrontNode {
    if (this.#node === undefined) throw new Error('The world is started first');
    return this.#node;
  }

  get core(): CoreRuntime {
    if (this.#core === undefined) throw new Error('The world is started first');
    return this.#core;
  }

  get disk(): DiskLevel {
    return this.#disk;
  }

  set disk(level: DiskLevel) {
    this.#disk = level;
    this.core.reportDisk(level);
  }

  /** Groups whose rows a start has found missing or damaged. */
  readonly rebuilt: GroupId[] = [];

  /** Notes about damage and rebuilds. */
  readonly notes: HistoryNote[] = [];
  machines: Machines = databaseKit.machines;

  async start({ isSuspect = false, damaged = new Set() }: Kept = {}): Promise<void> {
    const { log, kv, machines } = this;
    const clock: Clock = { nowMs: () => this.nowMs };
    const ports: CorePorts = {
      ...clusterOf([NODE], NODE),
      kv,
      syncStore: () => kv.checkpointFiles(),
      isSuspect,
      damaged,
      log,
      peers: noPeers,
      machines,
      levels: this.#levels,
      limits: this.#limits,
      clock,
      monotonicMs: () => this.nowMs,
      random: this.#random,
      snapshotObserver: unobservedSnapshots,
      observer: { elected: mute, followed: mute, campaignFailed: mute, committed: mute, synced: mute, written: mute },
      later: setImmediate,
    };
    const core = await CoreRuntime.open(ports, log.recover());
    core.onFailure((failure) => this.failures.push(failure));
    this.#core = core;
    this.#node = new FrontNode({
      link: core,
      reader: kv,
      identity: { clusterId: '', storeId: '', node: NODE, isLearner: false },
      name: 'test',
      catalog: core.catalog,
      disk: () => this.disk,
      storedRevision: (group) => databaseKit.storedRevision(kv, group),
      schedule: queueMicrotask,
      monotonicMs: () => this.nowMs,
      observer: { proposed: mute, refused: ({ error }) => this.refusals.push(error.details.reason), read: mute },
      rebuilding: core.rebuilding,
      onHistory: (note) => {
        this.notes.push(note);
        if (note.kind === 'rebuilding' && note.fault !== undefined) this.rebuilt.push(note.group);
      },
      close: async () => undefined,
    });
  }

  /** Resolves when the rows of every database are whole. */
  async rebuild(): Promise<void> {
    for (let round = 0; round < 1000 && this.core.rebuilding.length > 0; round += 1) await settle();
    await settle();
  }

  /** The process dies, and the next one starts with the data that the disks kept. */
  async crash(kept: Kept = {}): Promise<void> {
    this.log = this.log.crash(kept.torn ?? 0);
    this.kv = await this.kv.crash(kept.survives ?? (() => true));
    await this.start(kept);
    await this.rebuild();
  }

  /** Advances time and ticks. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.core.tick();
  }

  /** Creates a database and returns its group. */
  async create(name: string): Promise<GroupId> {
    const { binding } = await this.node.createDatabase(name);
    return toGroupId(binding.group);
  }

  async transact(group: GroupId, text: string): ReturnType<FrontNode['transact']> {
    return this.node.transact(group, databaseKit.payload(text, this.#names.of(text)));
  }

  /** Resolves when the store has the rows of everything that was answered. */
  async readable(group: GroupId): Promise<void> {
    const { node } = this;
    await node.waitFor(group, node.answered(group), new AbortController().signal);
  }

  /** Texts of a database's transactions, in order of revision, as read from the store. */
  async history(group: GroupId): Promise<readonly string[]> {
    await this.readable(group);
    return databaseKit.history(this.kv, group);
  }
}

function mute(): void {}

/** Bytes that differ from call to call, but are the same in each run. */
export function repeatableBytes(seed: number): { readonly bytes: (count: number) => Uint8Array } {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state >>> 24;
  };
  return { bytes: (count) => Uint8Array.from({ length: count }, next) };
}

/** Runs everything that is ready, for several event-loop turns. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
