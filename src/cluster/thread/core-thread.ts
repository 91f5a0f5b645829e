/** The link to a core on its own thread, in the front. core-worker.ts is the other side. */
import { type MessagePort, Worker } from 'node:worker_threads';
import { assert, Slots, unreachable } from '#base';
import type { DiskLevel } from '#storage';
import type { CatalogState } from '../catalog/catalog-mirror.ts';
import type { DrainNote } from '../core/drain.ts';
import type { Measures } from '../core/observer.ts';
import type { StandingMessage } from '../core/standing.ts';
import type { Commands, CoreLink, Report } from '../link.ts';
import type { NodeRegistration } from '../outcome.ts';
import type { Administered } from '../peer/administered.ts';
import type { AdminReply, AdminRequest } from '../peer/administration.ts';
import type { Founder, Joined } from '../peer/join.ts';
import type { PeerMeasures } from '../peer/peer-measures.ts';
import { commandTransfers, packCommands } from './command-message.ts';
import {
  type BindOrder,
  type CoreOrder,
  type FromCore,
  type JoinOrder,
  type Prepared,
  type ToCore,
  unpackFailure,
} from './core-thread-messages.ts';
import { type ReportMessage, unpackReport } from './report-message.ts';

export interface CoreThreadListeners {
  /** The core, or its log, has failed; called once, after `open` has resolved. */
  readonly onFatal: (failure: Error) => void;
  /** An operator has drained the node, so it must exit; called once. */
  readonly onToldToStop: () => void;
  readonly onDrain: (note: DrainNote) => void;
  readonly onAdministered: (administered: Administered) => void;
  readonly onMeasures: (measures: Measures) => void;
  readonly onPeers: (measures: PeerMeasures) => void;
  /** Health snapshot of the core, every second, and the number of messages sent to it by then. */
  readonly onStanding: (standing: StandingMessage, messagesSent: number) => void;
}

/** Opaque data that the composition root passes to the file which the thread runs. */
export interface CoreData {
  readonly value: unknown;
  readonly transfers: readonly MessagePort[];
}

/** First message of a recovered core. */
interface Opened {
  readonly catalog: CatalogState;
  /** Port for other nodes; undefined when there is none. */
  readonly peerPort: number | undefined;
}

interface Preparing {
  readonly resolve: (prepared: Prepared) => void;
  readonly reject: (failure: Error) => void;
}

export class CoreThread implements CoreLink {
  readonly #worker: Worker;
  readonly #listeners: CoreThreadListeners;
  readonly #exited: Promise<void>;
  readonly #opened = Promise.withResolvers<Opened>();
  readonly #alone = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #onReport: (report: Report) => void = () => undefined;
  #onWaiting: (why: string) => void = () => undefined;
  #left: (() => void) | undefined;
  #drained: (() => void) | undefined;
  /** Admin requests without an answer. */
  readonly #asked = new Slots<(reply: AdminReply) => void>();
  /** The pending `bind` or `join`. */
  #preparing: Preparing | undefined;
  /** Messages to the core since it was asked to open. */
  #sentCount = 0;
  #isOpen = false;
  #isEnded = false;

  private constructor(worker: Worker, listeners: CoreThreadListeners) {
    this.#worker = worker;
    this.#listeners = listeners;
    worker.on('message', (message: FromCore) => this.#take(message));
    worker.on('error', (error: Error) => this.#fail(error));
    // It may fail before `open` is called.
    this.#opened.promise.catch(() => undefined);
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#fail(new Error(`The thread of the core ended by itself, with exit code ${code}`));
        for (const answer of this.#asked.values()) answer({ kind: 'later', reason: 'the node has stopped' });
        resolve();
      });
    });
  }

  /** Starts the thread by a file that calls `runCore`. It loads its modules, and waits for `open` or `abandon`. */
  static start(worker: URL, listeners: CoreThreadListeners, data?: CoreData): CoreThread {
    const given = data && { workerData: data.value, transferList: [...data.transfers] };
    return new CoreThread(new Worker(worker, { name: 'core', ...given }), listeners);
  }

  /**
   * Binds the peer port; returns its number.
   * @throws DatabaseError when the address cannot be bound.
   */
  bind(order: BindOrder): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#preparing = { resolve: (message) => message.kind === 'bound' && resolve(message.port), reject };
    this.#worker.postMessage(order, []);
    return promise;
  }

  /**
   * Joins a cluster with this store, before anything is opened.
   * @throws DatabaseError like `joinCluster`.
   */
  join(order: JoinOrder, onWaiting: (why: string) => void): Promise<Joined | Founder> {
    const { promise, resolve, reject } = Promise.withResolvers<Joined | Founder>();
    this.#onWaiting = onWaiting;
    this.#preparing = { resolve: (message) => message.kind === 'joined' && resolve(message.joined), reject };
    this.#worker.postMessage(order, []);
    return promise;
  }

  /** Announces the addresses of this node. */
  announce(registration: NodeRegistration): void {
    this.#post({ kind: 'announce', registration });
  }

  /** Recovers the node. Rejects with the reason when it refuses to start. */
  open(order: Omit<CoreOrder, 'alone'>): Promise<Opened> {
    const complete: CoreOrder = { ...order, alone: this.#alone.buffer };
    this.#worker.postMessage(complete, []);
    return this.#opened.promise;
  }

  /** Ends a thread that has not opened the node, or could not. */
  async abandon(): Promise<void> {
    this.#isEnded = true;
    await this.#worker.terminate();
  }

  get isAlone(): boolean {
    return Atomics.load(this.#alone, 0) === 1;
  }

  send(commands: Commands): void {
    const message = packCommands(commands);
    this.#post(message, commandTransfers(message));
  }

  onReport(listener: (report: Report) => void): void {
    this.#onReport = listener;
  }

  reportDisk(level: DiskLevel): void {
    this.#post({ kind: 'disk', level });
  }

  runs(digest: string, fault?: string): void {
    this.#post({ kind: 'runs', digest, fault });
  }

  administer(order: AdminRequest['order']): Promise<AdminReply> {
    const { promise, resolve } = Promise.withResolvers<AdminReply>();
    this.#post({ kind: 'administer', token: this.#asked.add(resolve), order });
    return promise;
  }

  async leave(withinMs: number): Promise<void> {
    assert(this.#left === undefined, 'A core leaves once');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#left = resolve;
    this.#post({ kind: 'leave', withinMs });
    await promise;
  }

  async drain(): Promise<void> {
    assert(this.#drained === undefined, 'A core is drained once');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    this.#post({ kind: 'drain' });
    await promise;
    await this.#exited;
  }

  #take(message: FromCore): void {
    if (message instanceof Float64Array || message.kind === 'report') return this.#report(message);
    switch (message.kind) {
      case 'opened':
        this.#isOpen = true;
        this.#opened.resolve({ catalog: message.catalog, peerPort: message.peerPort });
        break;
      case 'bound':
      case 'joined':
        this.#preparing?.resolve(message);
        break;
      case 'waiting':
        this.#onWaiting(message.why);
        break;
      case 'peers':
        this.#listeners.onPeers(message.measures);
        break;
      case 'standing':
        this.#listeners.onStanding(message.standing, this.#sentCount);
        break;
      case 'administered':
        this.#listeners.onAdministered(message.administered);
        break;
      case 'answered':
        this.#asked.remove(message.token)?.(message.reply);
        break;
      case 'told-to-stop':
        this.#listeners.onToldToStop();
        break;
      case 'drain':
        this.#listeners.onDrain(message.note);
        break;
      case 'left':
        this.#left?.();
        break;
      case 'drained':
        this.#isEnded = true;
        this.#drained?.();
        break;
      case 'failed':
        this.#fail(unpackFailure(message.failure));
        break;
      default:
        unreachable(message);
    }
  }

  #report(message: ReportMessage): void {
    const { report, measures } = unpackReport(message);
    // Waiting requests get their answers first.
    this.#onReport(report);
    this.#listeners.onMeasures(measures);
  }

  #post(message: ToCore, transfers: readonly ArrayBuffer[] = []): void {
    this.#sentCount += 1;
    this.#worker.postMessage(message, transfers);
  }

  /** Only the first failure counts: the others follow from it. */
  #fail(failure: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#preparing?.reject(failure);
    this.#opened.reject(failure);
    if (this.#isOpen) this.#listeners.onFatal(failure);
  }
}
