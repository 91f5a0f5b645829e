// A node of the simulated cluster: a machine with a disk, a store and clocks that outlive its processes, and a
// supervisor that starts the next process, like Kubernetes.
//
// It checks every end of a process: an end that no fault explains is a problem, and so is a refusal to start on an
// undamaged disk.
import type { LedgerStore } from '../../../src/cluster/store/ledger-store.ts';
import type { Release } from '../../support/cluster/replica-world.ts';
import { SimDisk } from '../disk/sim-disk.ts';
import { openLedgerStore } from '../disk/sim-ledger.ts';
import { SimStore } from '../disk/sim-store.ts';
import { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import { excuseOf, reasonOf } from './excuses.ts';
import { DIRECTORY, NodeProcess, type ProcessSettings } from './process.ts';
import type { ClusterPlace } from './seat.ts';
import { SimClock } from './sim-clock.ts';
import type { SimFront } from './sim-front.ts';

export interface NodeSettings extends ProcessSettings {
  readonly clockPpm: number;
  /** Maximum delay between the end of a process and the start of the next one. */
  readonly restartUsMax: number;
}

export interface NodeListener {
  /** Called when a process accepts requests. */
  readonly onUp: () => void;
  readonly onDown: () => void;
  /** Called when the node did something that no fault explains. */
  readonly onMisbehaviour: (what: string) => void;
}

/** Default of the node's setting. */
const GRACE_MS = 10_000;

/** Tools of a command on the machine of a stopped node. */
export interface Maintenance {
  readonly disk: SimDisk;
  readonly openStore: () => Promise<LedgerStore>;
  readonly random: Rng;
  readonly nowMs: number;
}

/** A copy of the disks of a machine. */
export interface Volume {
  readonly disk: SimDisk;
  readonly store: SimStore;
}

/** End of a process: alone, or with its machine, in which case this share of the unsynced data survives. */
export type Ending = { readonly kind: 'process' } | { readonly kind: 'power'; readonly share: number };

export class SimNode {
  readonly name: string;
  readonly clock: SimClock;
  #disk: SimDisk;
  #store: SimStore;
  readonly #simulator: Simulator;
  readonly #random: Rng;
  readonly #settings: NodeSettings;
  readonly #listener: NodeListener;
  #place: ClusterPlace | undefined;
  /** Number of times that its volume was emptied. */
  #wipes = 0;
  #process: NodeProcess | undefined;
  #ending: Ending = { kind: 'process' };
  /** Number of started processes, and of commands. */
  #starts = 0;
  #commands = 0;
  #isUp = false;
  #isDraining = false;
  #isRestarting = false;
  /** Number of callers that keep the node down. */
  #holds = 0;
  /** True when an operator may have removed the node from the cluster. */
  #isRemoved = false;
  #removals = 0;
  /** A release that was started by mistake and may not know the current level. */
  #mistaken: Release | undefined;
  #refusals = 0;
  #copies = 0;

  /** Without `place`, no other node can join this one. */
  constructor(
    {
      simulator,
      name,
      place,
    }: { readonly simulator: Simulator; readonly name: string; readonly place?: ClusterPlace | undefined },
    settings: NodeSettings,
    listener: NodeListener,
  ) {
    this.name = name;
    this.#place = place;
    this.#simulator = simulator;
    this.#random = simulator.random(name);
    this.#settings = settings;
    this.#listener = listener;
    this.#disk = this.#emptyDisk(`${name} disk`);
    this.#store = this.#emptyStore(`${name} store`);
    this.clock = new SimClock(simulator, settings.clockPpm);
  }

  get disk(): SimDisk {
    return this.#disk;
  }

  get store(): SimStore {
    return this.#store;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** True when the node is up and not draining: a draining process refuses writes until the next one has started. */
  get isServing(): boolean {
    return this.#isUp && !this.#isDraining;
  }

  /** The process that accepts requests, if any. */
  get process(): NodeProcess | undefined {
    return this.#isUp ? this.#process : undefined;
  }

  get running(): NodeProcess | undefined {
    return this.#process;
  }

  /** Number of the process; a connection belongs to one of them. */
  get incarnation(): number {
    return this.#starts;
  }

  start(): void {
    if (this.#process !== undefined || this.#holds > 0) return;
    this.#starts += 1;
    const process = new NodeProcess({
      simulator: this.#simulator,
      name: this.name,
      random: this.#random.split(`process ${this.#starts}`),
      disk: this.disk,
      store: this.store,
      clock: this.clock,
      settings: this.#settings,
      place: this.#place,
      onMisbehaviour: (what) => this.#listener.onMisbehaviour(what),
      onFailure: (failure) => this.#failed(failure),
    });
    this.#process = process;
    this.#simulator.note(`${this.name} starts`);
    process.start(() => {
      this.#isUp = true;
      this.store.serves();
      this.#simulator.note(`${this.name} is up`);
      this.#listener.onUp();
    });
  }

  /** Ends the process, and with `power` the machine; the next process starts automatically. */
  crash(ending: Ending): void {
    this.#ending = ending;
    this.#process?.kill(ending.kind === 'power');
    this.#ended(ending.kind === 'power' ? `power failure, ${ending.share} survives` : 'killed');
  }

  /** Sets how the process ends when the disk ends it within a call. */
  endsWith(ending: Ending): void {
    this.#ending = ending;
  }

  /** Limits the free space of the disk; undefined removes the limit. */
  limitDisk(freeBytes: number | undefined): void {
    this.disk.capacityBytes = Number.POSITIVE_INFINITY;
    if (freeBytes === undefined) return;
    // Acts as if other data had filled the disk except for this space.
    this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
    this.disk.capacityBytes -= this.disk.availableBytes - freeBytes;
  }

  /** Leaves space for this number of log segments, until the limit changes. */
  leaveRoomFor(segments: number): void {
    this.limitDisk(segments * this.#settings.walSegmentBytes);
  }

  /** Drains the node, as after SIGTERM; the next process starts automatically. */
  drain(): void {
    const process = this.process;
    if (process?.node === undefined) return;
    this.#simulator.note(`${this.name} drains${this.#isDraining ? ', as it does already' : ''}`);
    this.#isDraining = true;
    this.#drainProcess(process, process.node).catch((failure: unknown) => process.fail(failure));
  }

  async #drainProcess(process: NodeProcess, node: SimFront): Promise<void> {
    // It serves normally meanwhile.
    const { leads } = node.unfinished;
    await node.leave(GRACE_MS);
    if (!process.isAlive) return;
    this.#simulator.note(`${this.name} has handed over ${leads} leads, and has ${node.unfinished.leads}`);
    await node.drain();
    if (!process.isAlive || this.#process !== process) return;
    const { unanswered } = node;
    if (unanswered > 0) this.#listener.onMisbehaviour(`${this.name} has drained, and ${unanswered} were not answered`);
    process.kill();
    this.#ending = { kind: 'process' };
    this.#ended('drained');
  }

  /** An operator removes the node from the cluster: from now on its process may end with that reason. */
  leaves(): void {
    this.#isRemoved = true;
  }

  /** Number of processes that have ended because the node was removed. */
  get removals(): number {
    return this.#removals;
  }

  /** Number of processes that have correctly refused the level of the cluster. */
  get refusals(): number {
    return this.#refusals;
  }

  /**
   * Sets the release of the next process; a current process with another release is drained, or killed while it starts.
   * It may be a mistake.
   */
  runs(release: Release, { isMistaken = false }: { readonly isMistaken?: boolean } = {}): void {
    if (isMistaken) this.#mistaken = release;
    else if (this.#mistaken === release) this.#mistaken = undefined;
    this.#place = this.#place && { ...this.#place, release };
    if (this.#process === undefined || this.#process.release === release) return;
    if (!this.#isUp) this.crash({ kind: 'process' });
    else if (!this.#isDraining) this.drain();
  }

  /** Runs a command on the disks of the held node; rejects with the failure of the command. */
  async maintain<Value>(work: (tool: Maintenance) => Promise<Value>): Promise<Value> {
    this.#commands += 1;
    const random = this.#random.split(`command ${this.#commands}`);
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const thread = new Isolate(this.#simulator, `${this.name}.command`, random.split('thread'), reject);
    this.disk.attach({ onCut: () => undefined, sleep: (delayUs) => thread.sleep(delayUs, 'disk') });
    const openStore = (): Promise<LedgerStore> => openLedgerStore(DIRECTORY, this, thread);
    const tool = { disk: this.disk, openStore, random, nowMs: this.clock.nowMs() };
    try {
      return await Promise.race([work(tool), failed]);
    } finally {
      thread.kill();
      this.disk.arm(undefined);
      this.store.endProcess();
    }
  }

  /** The power of the held node fails; this share of the unsynced data survives. */
  async losePower(share: number): Promise<void> {
    this.disk.losePower(share);
    await this.store.losePower(share);
  }

  /** Assigns the next process to another cluster. */
  moves(to: Pick<ClusterPlace, 'seeds' | 'watch' | 'durability'>): void {
    this.#place = this.#place && { ...this.#place, ...to };
  }

  /** Keeps the node down until `release`, once for each call. */
  hold(): void {
    this.#holds += 1;
    this.crash({ kind: 'process' });
  }

  release(): void {
    this.#holds -= 1;
    if (this.#holds === 0) this.#restart();
  }

  #emptyDisk(name: string): SimDisk {
    const { trace } = this.#simulator;
    return new SimDisk(this.#simulator.random(name), (bytes) => trace.bytes(bytes));
  }

  #emptyStore(name: string): SimStore {
    const { trace } = this.#simulator;
    const store = new SimStore(this.#simulator.random(name), (bytes) => trace.bytes(bytes));
    store.hasRoom = () => this.disk.availableBytes > 0;
    return store;
  }

  /** Copies the current content of its volume, regardless of the process. */
  async copyVolume(): Promise<Volume> {
    this.#copies += 1;
    const random = this.#random.split(`copy ${this.#copies}`);
    const disk = this.disk.copy(random.split('disk'));
    return { disk, store: await this.store.copy(random.split('store')) };
  }

  /** Restores the volume of the held node to a copy. */
  putBack({ disk, store }: Volume): void {
    this.#disk = disk;
    this.#store = store;
    store.hasRoom = () => this.disk.availableBytes > 0;
  }

  /** Empties the volume. The next process joins through `seeds` as a new store. */
  wipe(seeds: readonly string[]): void {
    this.hold();
    this.#wipes += 1;
    this.#isRemoved = false;
    this.#simulator.note(`${this.name} is emptied`);
    this.#disk = this.#emptyDisk(`${this.name} disk ${this.#wipes}`);
    this.#store = this.#emptyStore(`${this.name} store ${this.#wipes}`);
    this.#place = this.#place && { ...this.#place, seeds };
    this.release();
  }

  #failed(failure: unknown): void {
    if (failure === 'cut')
      return this.#ended(this.#ending.kind === 'power' ? 'power failure in a call' : 'killed in a call');
    this.#ending = { kind: 'process' };
    const excuse = this.#excuse(failure);
    if (excuse === undefined) this.#listener.onMisbehaviour(`${this.name} failed by itself: ${describe(failure)}`);
    this.#ended(`failed (${excuse ?? 'without a cause'}): ${describe(failure)}`);
  }

  /** The fault that explains the failure, if any. */
  #excuse(failure: unknown): string | undefined {
    if (this.#isRemoved && reasonOf(failure) === 'NodeRemoved') {
      this.#removals += 1;
      return 'an operator has removed the node';
    }
    if (this.#mistaken !== undefined && this.#process?.release === this.#mistaken && isOfLevel(failure)) {
      this.#refusals += 1;
      return 'it runs a release that does not know the level';
    }
    return excuseOf(failure, this);
  }

  #ended(how: string): void {
    const wasUp = this.#isUp;
    this.#process = undefined;
    this.#isUp = false;
    this.#isDraining = false;
    this.disk.arm(undefined);
    this.#simulator.note(`${this.name} ends: ${how}`);
    if (wasUp) this.#listener.onDown();
    const ending = this.#ending;
    this.#ending = { kind: 'process' };
    if (ending.kind === 'process') return this.#restart();
    this.disk.losePower(ending.share);
    this.store.losePower(ending.share).then(
      () => this.#restart(),
      (failure: unknown) => this.#listener.onMisbehaviour(`the simulation failed: ${describe(failure)}`),
    );
  }

  #restart(): void {
    if (this.#isRestarting || this.#process !== undefined) return;
    this.#isRestarting = true;
    this.#simulator.after(this.#random.between(1000, this.#settings.restartUsMax), `${this.name} restart`, () => {
      this.#isRestarting = false;
      this.start();
    });
  }
}

/** True when the process may have ended because its release does not support a level, also by the word of others. */
function isOfLevel(failure: unknown): boolean {
  return ['LevelNotKnown', 'UnknownFeatureLevel', 'JoinRefused'].includes(reasonOf(failure) ?? '');
}

export function describe(failure: unknown): string {
  return failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
}
