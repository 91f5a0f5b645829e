/**
 * The log on a thread of its own, from the view of its user.
 *
 * A sync blocks the thread that waits for it for a fraction of a millisecond, or for many milliseconds when the disk is
 * busy. The pool of libuv has only four threads for everything, and a sync that queued after other work was measured
 * to take a thousand times longer. So the log has its own thread.
 *
 * This file does not know the format of records: it sends buffers and receives messages.
 */
import { Worker } from 'node:worker_threads';
import { assert } from '#base';
import { type FromLogThread, fromFailureMessage, type OpenLog, type ToLogThread } from './log-messages.ts';
import type { EncodedRecords } from './log-records.ts';
import type { BatchId, LogWriter, PersistedFacts, RecoveredLog } from './log-writer.ts';
import { SEGMENT_BYTES_DEFAULT, type WalOptions } from './wal.ts';

/** The worker is beside this file, with the same extension: `.ts` from source, `.js` when built. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './log-worker.ts' : './log-worker.js', import.meta.url);

export class LogThread implements LogWriter {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #appended: BatchId = 0;
  #failure: Error | undefined;
  #isClosing = false;
  #onPersisted: ((through: BatchId, facts: PersistedFacts) => void) | undefined;
  #onFatal: ((failure: Error) => void) | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('error', (error: Error) => this.#fail(error));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        if (!this.#isClosing) this.#fail(new Error(`The thread of the log ended by itself, with exit code ${code}`));
        resolve();
      });
    });
  }

  /** Starts the thread. It loads what it takes, and waits for `open`. */
  static start(): LogThread {
    return new LogThread(new Worker(WORKER, { name: 'log' }));
  }

  /** Has the thread open the log in `directory`, once. Rejects with the reason when the log refuses. */
  open(directory: string, options: Omit<WalOptions, 'disk'>): Promise<RecoveredLog> {
    const { identity, segmentBytes = SEGMENT_BYTES_DEFAULT } = options;
    const order: OpenLog = { directory, identity, segmentBytes };
    return new Promise((resolve, reject) => {
      this.onFatal(reject);
      this.#worker.on('message', (message: FromLogThread) => {
        if (message.kind === 'opened') resolve(message.recovered);
        else if (message.kind === 'persisted') this.#onPersisted?.(message.through, message.facts);
        else this.#fail(fromFailureMessage(message.failure));
      });
      this.#worker.postMessage(order, []);
    });
  }

  append(records: EncodedRecords): BatchId {
    if (this.#failure !== undefined) throw this.#failure;
    assert(!this.#isClosing, 'Nothing is appended to a log that is closing');
    const message: ToLogThread = records;
    this.#worker.postMessage(message, [records.buffer]);
    this.#appended += 1;
    return this.#appended;
  }

  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void {
    this.#onPersisted = listener;
  }

  onFatal(listener: (failure: Error) => void): void {
    this.#onFatal = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const message: ToLogThread = 'close';
    this.#worker.postMessage(message, []);
    await this.#exited;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Only the first failure counts: the others follow from it. */
  #fail(failure: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#onFatal?.(failure);
  }
}
