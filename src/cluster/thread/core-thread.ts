/** The link to a core on its own thread, in the front. core-worker.ts is the other side. */
import { type MessagePort, Worker } from 'node:worker_threads';
import { type ErrorLog, type GroupId, Slots, unreachable } from '#base';
import type { DiskLevel } from '#storage';
import type { Administered } from '../admin/administered.ts';
import type { AdminReply, AdminRequest } from '../admin/administration.ts';
import type { DrainNote } from '../core/drain.ts';
import type { Commands, CoreLink, Report } from '../link.ts';
import type { NodeRegistration } from '../outcome.ts';
import type { Founder, Joined } from '../peer/join.ts';
import { commandTransfers, packCommands } from './command-message.ts';
import {
  type CoreCalls,
  type CoreOrder,
  type FromCore,
  type JoinOrder,
  type Opened,
  type Telemetry,
  type ToCore,
  unpackFailure,
} from './core-thread-messages.ts';
import type { PeerPortOptions } from './peer-port.ts';
import { unpackReport } from './report-message.ts';

export interface CoreThreadListeners {
  /** The core, or its log, has failed; called once, after `open` has resolved. */
  readonly onFatal: (failure: Error) => void;
  /** An operator has drained the node, so it must exit; called once. */
  readonly onStopRequested: () => void;
  readonly onDrain: (note: DrainNote) => void;
  readonly onAdministered: (administered: Administered) => void;
  readonly log: ErrorLog;
  /** Called every second, with the number of messages sent to the core by then. */
  readonly onTelemetry: (telemetry: Telemetry, messagesSent: number) => void;
}

/** Opaque data that the composition root passes to the file which the thread runs. */
export interface CoreData {
  readonly value: unknown;
  readonly transfers: readonly MessagePort[];
}

/** A call without an answer. */
interface Pending {
  /** Called before the next message of the thread, or its end, is handled: both may have arrived with the answer. */
  readonly onAnswered?: (() => void) | undefined;
  resolve(answer: unknown): void;
  reject(failure: Error): void;
}

/** The thread, as far as this side uses it. */
export type CoreWorker = Pick<Worker, 'on' | 'postMessage' | 'terminate'>;

export class CoreThread implements CoreLink {
  readonly #worker: CoreWorker;
  readonly #listeners: CoreThreadListeners;
  readonly #exited: Promise<void>;
  readonly #alone = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Reports before there is a listener; the first may arrive with the answer to `open`. */
  #early: Report[] = [];
  #onReport: (report: Report) => void = (report) => this.#early.push(report);
  #onWaiting: (why: string) => void = () => undefined;
  readonly #calls = new Slots<Pending>();
  /** Messages to the core since it was opened. */
  #sentCount = 0;
  #isOpen = false;
  #isEnded = false;
  #failure: Error | undefined;

  constructor(worker: CoreWorker, listeners: CoreThreadListeners) {
    this.#worker = worker;
    this.#listeners = listeners;
    worker.on('message', (message: FromCore) => this.#take(message));
    worker.on('error', (error: Error) => this.#fail(error));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#fail(new Error(`The thread of the core ended by itself, with exit code ${code}`));
        for (const call of this.#calls.values()) call.reject(new Error('the node has stopped'));
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
  bind(options: PeerPortOptions): Promise<number> {
    return this.#call('bind', options);
  }

  /**
   * Joins a cluster with this store, before anything is opened.
   * @throws DatabaseError like `joinCluster`.
   */
  join(order: JoinOrder, onWaiting: (why: string) => void): Promise<Joined | Founder> {
    this.#onWaiting = onWaiting;
    return this.#call('join', order);
  }

  /** Announces the addresses of this node. */
  announce(registration: NodeRegistration): void {
    this.#post({ kind: 'announce', registration });
  }

  /** Recovers the node. Rejects with the reason when it refuses to start. */
  open(order: Omit<CoreOrder, 'alone'>): Promise<Opened> {
    return this.#call('open', { ...order, alone: this.#alone.buffer }, () => {
      this.#isOpen = true;
    });
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
    for (const report of this.#early) listener(report);
    this.#early = [];
  }

  reportDisk(level: DiskLevel): void {
    this.#post({ kind: 'disk', level });
  }

  runs(digest: string, fault?: string): void {
    this.#post({ kind: 'runs', digest, fault });
  }

  /** The scrub has found damage in the history of a database. */
  damaged(group: GroupId): void {
    this.#post({ kind: 'damaged', group });
  }

  administer(order: AdminRequest['order']): Promise<AdminReply> {
    return this.#call('administer', order).catch(
      ({ message }: Error): AdminReply => ({ kind: 'later', reason: message }),
    );
  }

  leave(withinMs: number): Promise<void> {
    return this.#call('leave', withinMs);
  }

  async drain(): Promise<void> {
    await this.#call('drain', undefined, () => {
      this.#isEnded = true;
    });
    await this.#exited;
  }

  #call<Name extends keyof CoreCalls>(
    name: Name,
    argument: CoreCalls[Name]['argument'],
    onAnswered?: () => void,
  ): Promise<CoreCalls[Name]['answer']> {
    const { promise, resolve, reject } = Promise.withResolvers<CoreCalls[Name]['answer']>();
    if (this.#failure !== undefined) reject(this.#failure);
    else this.#post({ kind: 'call', id: this.#calls.add({ resolve, reject, onAnswered }), name, argument });
    return promise;
  }

  #take(message: FromCore): void {
    if (message instanceof Float64Array || message.kind === 'report') return this.#onReport(unpackReport(message));
    switch (message.kind) {
      case 'answered':
        return this.#answered(message.id, message.answer);
      case 'waiting':
        return this.#onWaiting(message.why);
      case 'telemetry':
        return this.#listeners.onTelemetry(message.telemetry, this.#sentCount);
      case 'administered':
        return this.#listeners.onAdministered(message.administered);
      case 'stop-requested':
        return this.#listeners.onStopRequested();
      case 'drain':
        return this.#listeners.onDrain(message.note);
      case 'logged':
        return this.#listeners.log.error(message.event, { ...message.fields, error: unpackFailure(message.failure) });
      case 'failed':
        return this.#fail(unpackFailure(message.failure));
      default:
        return unreachable(message);
    }
  }

  #answered(id: number, answer: unknown): void {
    const call = this.#calls.remove(id);
    call?.onAnswered?.();
    call?.resolve(answer);
  }

  #post(message: ToCore, transfers: readonly ArrayBuffer[] = []): void {
    if (this.#isOpen) this.#sentCount += 1;
    this.#worker.postMessage(message, transfers);
  }

  /** Only the first failure counts: the others follow from it. */
  #fail(failure: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = failure;
    for (const call of this.#calls.values()) call.reject(failure);
    if (this.#isOpen) this.#listeners.onFatal(failure);
  }
}
