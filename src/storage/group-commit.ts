/**
 * The queue of records that wait for the disk, and become durable together.
 *
 * Records are queued as they arrive; `flush` makes everything queued durable by one write and one sync, and reports the
 * last durable message. While a flush runs its thread does nothing else, so all records that arrive meanwhile are the
 * next batch: there is no timer and no window to set.
 *
 *   W14  Messages become durable in the order in which they were queued, and are reported only after their sync;
 *        after a failure nothing is reported any more.
 */
import type { EncodedRecords } from './log-records.ts';
import type { BatchId, PersistedFacts } from './log-writer.ts';
import type { Wal } from './wal.ts';

export class GroupCommit {
  readonly #wal: Wal;
  readonly #monotonicMs: () => number;
  #queue: EncodedRecords[] = [];
  #queuedBytes = 0;
  #queued: BatchId = 0;

  constructor(wal: Wal, monotonicMs: () => number) {
    this.#wal = wal;
    this.#monotonicMs = monotonicMs;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  add(records: EncodedRecords): BatchId {
    this.#queue.push(records);
    this.#queuedBytes += records.length;
    this.#queued += 1;
    return this.#queued;
  }

  /** Makes the queue durable and reports it; then calls `tidy` of the log. Throws when the log has failed. */
  flush(onPersisted: (through: BatchId, facts: PersistedFacts) => void): void {
    if (this.#queue.length === 0) return;
    const messages = this.#queue;
    const through = this.#queued;
    this.#queue = [];
    this.#queuedBytes = 0;
    const startedMs = this.#monotonicMs();
    const { bytes } = this.#wal.append(messages);
    onPersisted(through, { bytes, elapsedMs: this.#monotonicMs() - startedMs });
    this.#wal.tidy();
  }
}
