// A node of the simulated cluster: a machine with a disk, a store and clocks that outlive its processes, and somebody
// who starts the next process when one has ended, as Kubernetes does.
//
// It judges every end of a process: one that nobody caused is a fault, and so is a refusal to start on a good disk.
import type { Release } from '../../support/cluster/replica-world.ts';
import { SimDisk } from '../disk/sim-disk.ts';
import { type OpenStore, SimStore } from '../disk/sim-store.ts';
import { Isolate } from '../engine/isolate.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import { excuseOf, reasonOf } from './excuses.ts';
import { NodeProcess, type ProcessSettings } from './process.ts';
import type { ClusterPlace } from './seat.ts';
import { SimClock } from './sim-clock.ts';
import type { SimFront } from './sim-front.ts';

export interface NodeSettings extends ProcessSettings {
  readonly clockPpm: number;
  /** How long the next process takes to come after one has ended, at most. */
  readonly restartUsMax: number;
}

export interface NodeListener {
  /** A process takes requests. */
  readonly onUp: () => void;
  readonly onDown: () => void;
  /** The node did what no fault explains. */
  readonly onMisbehaviour: (what: string) => void;
}

/** As of the settings of a node. */
const GRACE_MS = 10_000;

/** What a command on the machine of a stopped node works on. */
export interface Maintenance {
  readonly disk: SimDisk;
  readonly store: OpenStore;
  readonly random: Rng;
  readonly nowMs: number;
}

/** A copy of what a machine has on its disks. */
export interface Volume {
  readonly disk: SimDisk;
  readonly store: SimStore;
}

/** How a process ends: alone, or with the machine; then this share of what was not synced survives. */
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
  /** How often its volume was emptied. */
  #wipes = 0;
  #process: NodeProcess | undefined;
  #ending: Ending = { kind: 'process' };
  /** How often a process was started, and a command. */
  #starts = 0;
  #commands = 0;
  #isUp = false;
  #isDraining = false;
  #isRestarting = false;
  /** How many have taken the node away for a while. */
  #holds = 0;
  /** The cluster has let the node go, as an operator has asked. */
  #isRemoved = false;
  #removals = 0;
  /** A release that the node was told to run, and that may not know the level that it finds. */
  #mistaken: Release | undefined;
  #refusals = 0;
  #copies = 0;

  /** Without a `place` it is a node that nobody can join. */
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

  /** Up, and on no way down: a process that drains refuses writes until the next one has its place. */
  get isServing(): boolean {
    return this.#isUp && !this.#isDraining;
  }

  /** The process that takes requests, if one does. */
  get process(): NodeProcess | undefined {
    return this.#isUp ? this.#process : undefined;
  }

  get running(): NodeProcess | undefined {
    return this.#process;
  }

  /** Numbers the processes: a connection is to one of them. */
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

  /** Ends the process, and with `power` the machine; the next one comes by itself. */
  crash(ending: Ending): void {
    this.#ending = ending;
    this.#process?.kill(ending.kind === 'power');
    this.#ended(ending.kind === 'power' ? `power failure, ${ending.share} survives` : 'killed');
  }

  /** What happens to the machine when the disk cuts a call short. */
  endsWith(ending: Ending): void {
    this.#ending = ending;
  }

  /** The disk is (no longer) as small as this. */
  limitDisk(freeBytes: number | undefined): void {
    this.disk.capacityBytes = Number.POSITIVE_INFINITY;
    if (freeBytes === undefined) return;
    // As if somebody else had written all but so much.
    this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
    this.disk.capacityBytes -= this.disk.availableBytes - freeBytes;
  }

  /** Others leave so many segments of the log, until the disk is limited in another way. */
  leaveRoomFor(segments: number): void {
    this.limitDisk(segments * this.#settings.walSegmentBytes);
  }

  /** An orderly end, as SIGTERM asks for; the next process comes by itself. */
  drain(): void {
    const process = this.process;
    if (process?.node === undefined) return;
    this.#simulator.note(`${this.name} drains${this.#isDraining ? ', as it does already' : ''}`);
    this.#isDraining = true;
    this.#drainProcess(process, process.node).catch((failure: unknown) => process.fail(failure));
  }

  async #drainProcess(process: NodeProcess, node: SimFront): Promise<void> {
    // It serves as ever meanwhile.
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

  /** An operator has it leave the cluster: from now on it may be told that it was removed. */
  leaves(): void {
    this.#isRemoved = true;
  }

  /** How often a process has ended because the node was removed. */
  get removals(): number {
    return this.#removals;
  }

  /** How often a process has said that its release does not know the level of the cluster, where that is so. */
  get refusals(): number {
    return this.#refusals;
  }

  /** The next process runs this release; another one is drained, or killed while it starts. It may be a mistake. */
  runs(release: Release, { isMistaken = false }: { readonly isMistaken?: boolean } = {}): void {
    if (isMistaken) this.#mistaken = release;
    else if (this.#mistaken === release) this.#mistaken = undefined;
    this.#place = this.#place && { ...this.#place, release };
    if (this.#process === undefined || this.#process.release === release) return;
    if (!this.#isUp) this.crash({ kind: 'process' });
    else if (!this.#isDraining) this.drain();
  }

  /** Works on what the held node has, as a command on its machine; it ends with what the work throws. */
  async maintain<Value>(work: (tool: Maintenance) => Promise<Value>): Promise<Value> {
    this.#commands += 1;
    const random = this.#random.split(`command ${this.#commands}`);
    const { promise: failed, reject } = Promise.withResolvers<never>();
    const thread = new Isolate(this.#simulator, `${this.name}.command`, random.split('thread'), reject);
    this.disk.attach({ onCut: () => undefined, sleep: (delayUs) => thread.sleep(delayUs, 'disk') });
    const tool = { disk: this.disk, store: this.store.openIn(thread), random, nowMs: this.clock.nowMs() };
    try {
      return await Promise.race([work(tool), failed]);
    } finally {
      thread.kill();
      this.disk.arm(undefined);
      this.store.endProcess();
    }
  }

  /** The power of the held node fails; such a share of what was not synced survives. */
  async losePower(share: number): Promise<void> {
    this.disk.losePower(share);
    await this.store.losePower(share);
  }

  /** The next process belongs to another cluster. */
  moves(to: Pick<ClusterPlace, 'seeds' | 'watch' | 'durability'>): void {
    this.#place = this.#place && { ...this.#place, ...to };
  }

  /** Keeps the node down until `release`; of several, until the last. */
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

  /** What its volume holds now, whatever its process does. */
  async copyVolume(): Promise<Volume> {
    this.#copies += 1;
    const random = this.#random.split(`copy ${this.#copies}`);
    const disk = this.disk.copy(random.split('disk'));
    return { disk, store: await this.store.copy(random.split('store')) };
  }

  /** The volume of the held node is what it was when it was copied. */
  putBack({ disk, store }: Volume): void {
    this.#disk = disk;
    this.#store = store;
    store.hasRoom = () => this.disk.availableBytes > 0;
  }

  /** Its volume is emptied. What starts on it asks the others (`seeds`) to join, as a store that nobody knows. */
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

  /** What the world did that explains the failure. */
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

/** Whether the process has ended because its release does not support a level. */
function isOfLevel(failure: unknown): boolean {
  const reason = reasonOf(failure);
  return reason === 'LevelNotKnown' || reason === 'UnknownFeatureLevel';
}

export function describe(failure: unknown): string {
  return failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
}
