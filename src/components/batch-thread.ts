/**
 * Starts and uses the thread that builds batches. batch-worker.ts is the other side.
 *
 * ```
 *            a fold is longer than a batch          it says that it is open
 *   none ──────────────────────────────▶ starting ──────────────────────────▶ open
 *     ▲                                      │                                  │
 *     └──────────────────────────────────────┴── it has ended, whyever ─────────┘
 * ```
 * A fold reads its first batch on the event loop, which suffices for most reads, and continues on the thread if there
 * is one. If the thread has ended, fails, or does not see the revision yet, the fold continues on the loop after the
 * last received event. The thread therefore never affects results, and read errors are reported by the loop.
 *
 * F8  The events of a fold arrive once each and in order, wherever they are read and whenever the thread ends.
 */
import { Worker } from 'node:worker_threads';
import type { DatabaseSource } from '#query';
import type { BatchLease } from './batch-memory.ts';
import { type FromBatches, memoryOf, type ToBatches } from './batch-messages.ts';
import { type BatchedQuery, behindLast, type EventBatch, eventBatches } from './event-batches.ts';

/** Source of batches. */
export interface BatchReader {
  /** A batch is lent until the batch after the next one is requested or the lease ends (F9). */
  batches(source: DatabaseSource, asked: BatchedQuery, lease: BatchLease): AsyncGenerator<EventBatch, undefined>;
}

/** For an in-memory store, which another thread cannot read. */
export const READ_HERE: BatchReader = { batches: batchesHere };

async function* batchesHere(
  source: DatabaseSource,
  asked: BatchedQuery,
  lease: BatchLease,
): AsyncGenerator<EventBatch, undefined> {
  for await (const batch of eventBatches(source, asked, lease.spare)) {
    lease.hold(batch);
    yield batch;
  }
}

/** Events are read in place and batches are not on the heap, so a small young generation suffices. */
const YOUNG_GENERATION_MIB = 8;

/** Batches of a fold that have arrived. */
class Arrivals {
  readonly #batches: EventBatch[] = [];
  #end: 'over' | 'failed' | undefined;
  #wake: (() => void) | undefined;

  add(batch: EventBatch): void {
    this.#batches.push(batch);
    this.#wake?.();
  }

  end(how: 'over' | 'failed'): void {
    this.#end ??= how;
    this.#wake?.();
  }

  async next(): Promise<EventBatch | 'over' | 'failed'> {
    for (;;) {
      const next = this.#batches.shift() ?? this.#end;
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

export class BatchThread implements BatchReader, AsyncDisposable {
  readonly #program: URL;
  readonly #directory: string;
  readonly #folds: Map<number, Arrivals> = new Map();
  #worker: Worker | undefined;
  #exited: Promise<void> = Promise.resolve();
  #isOpen = false;
  #isClosed = false;
  #nextFold = 1;

  /** `program` calls `runBatches` for the store in the directory, which is its `workerData`. */
  constructor(program: URL, directory: string) {
    this.#program = program;
    this.#directory = directory;
  }

  /** Number of folds that use the thread. */
  get foldCount(): number {
    return this.#folds.size;
  }

  async *batches(
    source: DatabaseSource,
    asked: BatchedQuery,
    lease: BatchLease,
  ): AsyncGenerator<EventBatch, undefined> {
    let rest = asked;
    for (;;) {
      // Closed explicitly, so that memory of batches read in advance is released before the fold continues on the
      // thread.
      let isOver = true;
      for await (const batch of batchesHere(source, rest, lease)) {
        yield batch;
        rest = behindLast(asked, batch.last);
        isOver = !this.#mayGoOn();
        if (!isOver) break;
      }
      if (isOver) return;
      for await (const batch of this.#fromThread(source, rest)) {
        if (batch === 'over') return;
        yield batch;
        rest = behindLast(asked, batch.last);
      }
    }
  }

  /** Folds in progress continue on the loop. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#isOpen = false;
    this.#failAll();
    const close: ToBatches = { kind: 'close' };
    this.#worker?.postMessage(close, []);
    await this.#exited;
  }

  /** Returns whether the thread is available; otherwise it is started for later folds. */
  #mayGoOn(): boolean {
    if (this.#worker === undefined && !this.#isClosed) this.#start();
    return this.#isOpen;
  }

  #start(): void {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(this.#program, { name: 'batches', workerData: this.#directory, resourceLimits });
    this.#worker = worker;
    worker.on('message', (message: FromBatches) => this.#heard(message));
    // The reader on the loop meets the same error and reports it; the exit event handles the end.
    worker.on('error', () => undefined);
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#worker = undefined;
        this.#isOpen = false;
        this.#failAll();
        resolve();
      });
    });
  }

  #heard(message: FromBatches): void {
    if (message.kind === 'open') this.#isOpen = !this.#isClosed;
    else if (message.kind === 'batch') this.#folds.get(message.fold)?.add(message.batch);
    else this.#folds.get(message.fold)?.end(message.kind);
  }

  #failAll(): void {
    for (const arrivals of this.#folds.values()) arrivals.end('failed');
  }

  #post(message: ToBatches, moved: readonly ArrayBuffer[] = []): void {
    this.#worker?.postMessage(message, [...moved]);
  }

  /** Ends without `over` when the thread does not read everything. */
  async *#fromThread({ group }: DatabaseSource, asked: BatchedQuery): AsyncGenerator<EventBatch | 'over', undefined> {
    const fold = this.#nextFold++;
    const arrivals = new Arrivals();
    this.#folds.set(fold, arrivals);
    let [lent, free]: (EventBatch | undefined)[] = [];
    try {
      this.#post({ kind: 'begin', fold, group, asked });
      for (let next = await arrivals.next(); next !== 'failed'; next = await arrivals.next()) {
        if (next !== 'over') {
          const memory = free === undefined ? undefined : memoryOf(free);
          this.#post({ kind: 'more', fold, memory }, memory === undefined ? [] : [memory]);
          [lent, free] = [next, lent];
        }
        yield next;
        if (next === 'over') return;
      }
    } finally {
      this.#folds.delete(fold);
      this.#post({ kind: 'end', fold });
    }
  }
}
