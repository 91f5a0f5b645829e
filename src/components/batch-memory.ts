/**
 * Reuses the memory of batches on the event loop. A fold from a snapshot has one batch, and there are hundreds per
 * second: allocating each of them would keep the garbage collector busy.
 *
 *   F9  The memory of a batch is reused only when the batch is no longer used: its fold has requested the batch after
 *       the next one, or has ended.
 */
import type { SpareMemory } from '#model';
import { memoryOf } from './batch-messages.ts';
import type { EventBatch } from './event-batches.ts';

/** Enough for a few concurrent folds. */
const SPARES_MAX = 8;
/** Buffers of batches with a huge event are not kept, nor those that were copied from the thread. */
const [SPARE_BYTES_MIN, SPARE_BYTES_MAX] = [2 ** 16, 2 ** 19];
/** A batch in use, and a batch that is prepared meanwhile. */
const HELD_MAX = 2;

export class BatchMemory {
  readonly #spares: ArrayBuffer[] = [];

  /** Returns a lease for one fold, which must end it. */
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

  /** Records a batch that was built here, when it is requested. */
  hold(batch: EventBatch): void {
    this.#held.push(memoryOf(batch));
    if (this.#held.length > HELD_MAX) this.#free(this.#held.shift());
  }

  /** None of its batches is used any more. */
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
