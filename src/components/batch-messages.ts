/**
 * What the node and the thread that makes batches say to each other.
 *
 *   node ── begin, more, end, close ──▶ thread
 *   node ◀── open, batch, over, failed ── thread
 *
 * A fold has a number. The thread makes as many batches of a fold as it has been asked for by `begin` and `more`, so
 * what lies between the two is bounded. The memory of a batch is handed over with its message, and handed back with a
 * `more`: memory that only comes is what a collector of garbage has most to do with.
 */
import { assert, type GroupId } from '#base';
import type { BatchedQuery, EventBatch } from './event-batches.ts';

export type ToBatches =
  | { readonly kind: 'begin'; readonly fold: number; readonly group: GroupId; readonly asked: BatchedQuery }
  | { readonly kind: 'more'; readonly fold: number; readonly memory: ArrayBuffer | undefined }
  | { readonly kind: 'end'; readonly fold: number }
  | { readonly kind: 'close' };

export type FromBatches =
  | { readonly kind: 'open' }
  | { readonly kind: 'batch'; readonly fold: number; readonly batch: EventBatch }
  | { readonly kind: 'over'; readonly fold: number }
  | { readonly kind: 'failed'; readonly fold: number };

/** Batches of a fold that are made ahead of it. */
export const BATCHES_AHEAD = 2;

export function memoryOf({ events: { buffer } }: EventBatch): ArrayBuffer {
  assert(buffer instanceof ArrayBuffer, 'A batch has memory of its own');
  return buffer;
}
