/**
 * Memory of the batches that are made on the loop, used again by the folds after them. A fold near a snapshot is one
 * batch, and there are hundreds a second: memory that each makes anew is what the loop's collector of garbage would
 * mostly be busy with.
 *
 *   F9  The memory of a batch is used again only when nobody looks at the batch any more: its fold has asked for the
 *       next but one, or has ended.
 */
import type { SpareMemory } from '#model';
import { memoryOf } from './batch-messages.ts';
import type { EventBatch } from './event-batches.ts';

/** As many as a few folds at a time use. */
const SPARES_MAX = 8;
/** Neither that of a batch with a huge event is kept, nor that of a batch which was made elsewhere and copied. */
const [SPARE_BYTES_MIN, SPARE_BYTES_MAX] = [2 ** 16, 2 ** 19];
/** A batch, and the one that is made while it is looked at. */
const HELD_MAX = 2;

export class BatchMemory {
  readonly #spares: ArrayBuffer[] = [];

  /** For one fold, which ends it. */
  lease(): BatchLease {
    return new BatchLease(this.#spares);
  }
}

export class BatchLease {
  readonly #spares: ArrayBuffer[];
  #held: ArrayBuffer[] = [];
  readonly spare: SpareMemory = () => this.#spares.pop();

  constructor(spares: ArrayBuffer[]) {
    this.#spares = spares;
  }

  /** To be called for each batch that was made here, when it is asked for. */
  hold(batch: EventBatch): void {
    this.#held.push(memoryOf(batch));
    if (this.#held.length > HELD_MAX) this.#free(this.#held.shift());
  }

  /** Nobody looks at any of its batches any more. */
  end(): void {
    for (const memory of this.#held) this.#free(memory);
    this.#held = [];
  }

  #free(memory: ArrayBuffer | undefined): void {
    const bytes = memory?.byteLength ?? 0;
    if (memory === undefined || bytes < SPARE_BYTES_MIN || bytes > SPARE_BYTES_MAX) return;
    if (this.#spares.length < SPARES_MAX) this.#spares.push(memory);
  }
}
