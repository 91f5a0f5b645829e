/**
 * Messages between the node and the thread that builds batches.
 *
 *   node ── begin, more, end, close ──▶ thread
 *   node ◀── open, batch, over, failed ── thread
 *
 * A fold has a number. The thread builds as many batches of a fold as `begin` and `more` have requested, so the number
 * of unread batches is bounded. Memory moves with each batch and returns with `more`, because one-way transfers burden
 * the garbage collector.
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
