/**
 * The thread that makes batches, as the node holds it. See batch-worker.ts for the other side.
 *
 * ```
 *            a fold is longer than a batch          it says that it is open
 *   none ──────────────────────────────▶ starting ──────────────────────────▶ open
 *     ▲                                      │                                  │
 *     └──────────────────────────────────────┴── it has ended, whyever ─────────┘
 * ```
 * A fold reads its first batch on the loop, where that is all for most reads, and goes on by the thread when there is
 * one. What the thread does not do, because it has ended, could not read or does not see the revision, is done on the
 * loop, from the last event that came: so nothing that a thread is or does is a part of an answer, and what is wrong
 * with the store is told by whoever reads on the loop.
 *
 *   F8  The events of a fold come once each and in their order, wherever they are read, and whenever a thread ends.
 */
import { Worker } from 'node:worker_threads';
import type { DatabaseSource } from '#query';
import type { BatchLease } from './batch-memory.ts';
import { type FromBatches, memoryOf, type ToBatches } from './batch-messages.ts';
import { type BatchedQuery, behindLast, type EventBatch, eventBatches } from './event-batches.ts';

/** Where batches of events come from. */
export interface BatchReader {
  /** A batch is lent until the next but one is asked for, or the lease ends (F9). */
  batches(source: DatabaseSource, asked: BatchedQuery, lease: BatchLease): AsyncGenerator<EventBatch, undefined>;
}

/** What a store that is in memory has: no other thread can read it. */
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

/** Events are looked at where the store has them, and batches are not on its heap. */
const YOUNG_GENERATION_MIB = 8;

/** What has come of a fold. */
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

  /** `program` calls `runBatches` over the store in the directory, which is its `workerData`. */
  constructor(program: URL, directory: string) {
    this.#program = program;
    this.#directory = directory;
  }

  /** Folds that the thread reads for. */
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
      // With an end of its own each time, so that what was read ahead is given back before the thread goes on.
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

  /** Folds that are under way read on the loop from here on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#isOpen = false;
    this.#failAll();
    const close: ToBatches = { kind: 'close' };
    this.#worker?.postMessage(close, []);
    await this.#exited;
  }

  /** Whether the thread is there; it is started for whoever asks next. */
  #mayGoOn(): boolean {
    if (this.#worker === undefined && !this.#isClosed) this.#start();
    return this.#isOpen;
  }

  #start(): void {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(this.#program, { name: 'batches', workerData: this.#directory, resourceLimits });
    this.#worker = worker;
    worker.on('message', (message: FromBatches) => this.#heard(message));
    // What it was is seen by whoever reads on the loop, and its end is heard as any other.
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

  /** Ends without `over` when the thread does not read all of it. */
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
