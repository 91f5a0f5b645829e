/**
 * Messages between the node and the thread that builds batches.
 *
 *   node ── begin, more, end, close ──▶ thread
 *   node ◀── open, batch, over, failed ── thread
 *
 * A fold has a number. The thread builds only the batches that `begin` and `more` request, which bounds the unread
 * ones. The memory of a batch moves with it, and returns with `more`: one-way transfers burden the garbage collector.
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

/** Number of batches of a fold that are built in advance. */
export const BATCHES_AHEAD = 2;

export function memoryOf({ events: { buffer } }: EventBatch): ArrayBuffer {
  assert(buffer instanceof ArrayBuffer, 'A batch has memory of its own');
  return buffer;
}
