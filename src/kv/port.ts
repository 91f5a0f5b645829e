/**
 * The port: an ordered store of rows, as the rest of Cairn uses it.
 *
 * Reading one key is synchronous, because applying an entry is; walking a range is not, because the disk engine cannot
 * do it otherwise. There are no transactions, no merge operators, no column families.
 */

import type { GroupId } from '#base';
import type { HistoryAppend, HistoryEnd, HistoryReader } from './history.ts';

/** One row. Both arrays belong to the store: read them, keep them, never write into them (K5). */
export interface KvRow {
  readonly key: Uint8Array;
  /** Empty when the range was opened with `values: false`. */
  readonly value: Uint8Array;
}

/** The rows with `gte <= key < lt`. A range whose `lt` is not above its `gte` is empty. */
export interface KvRangeOptions {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  /** From the highest key down. Default false. */
  readonly reverse?: boolean;
  /** Maximum number of rows of the whole range. Default: all. */
  readonly limit?: number;
  /** False leaves the values out, which saves their copies. Default true. */
  readonly values?: boolean;
  /** About how many bytes of keys and values one call of `next` gathers before it returns. Default 64 KiB. */
  readonly chunkBytes?: number;
  /** False keeps a long walk from evicting hot rows from the store's cache. Default true. */
  readonly fillCache?: boolean;
}

/**
 * A walk over a range as of the call of `range` (K3). The caller closes it, also when it is exhausted. One call of
 * `next` at a time.
 */
export interface KvRange {
  /** Up to `count` rows (1 or more), fewer when `chunkBytes` is reached; none only at the end (K6). */
  next(count: number): Promise<readonly KvRow[]>;
  /** Releases the read view. Closing twice is allowed; `next` after it is a bug. */
  close(): Promise<void>;
}

export interface KvReader {
  /** The histories of the same store (history.ts). They include every batch whose promise has resolved. */
  readonly history: HistoryReader;
  /** The value of a key, or undefined. Sees every write whose promise has resolved (K4). */
  get(key: Uint8Array): Uint8Array | undefined;
  range(options: KvRangeOptions): KvRange;
}

/** Rows to write together (K2). Written at most once, by the store that created it. */
export interface KvBatch {
  /** Takes copies: both arrays may be reused at once (K5). */
  put(key: Uint8Array, value: Uint8Array): void;
  del(key: Uint8Array): void;
  /** Once for a group at most. A history has the records before any reader sees a row of the batch. */
  append(group: GroupId, records: HistoryAppend): void;
  /** Bytes of the keys and values so far. */
  readonly byteLength: number;
  /** Operations so far. */
  readonly count: number;
}

/**
 * One writer, any number of readers. A failed write or read is a `DatabaseError` of code internal, with its cause; a
 * failed write of a ledger is a `StorageFailure`.
 */
export interface KvStore extends KvReader {
  batch(): KvBatch;
  /** When the promise resolves, the rows survive the process; those of a ledger are on stable storage. */
  write(batch: KvBatch): Promise<void>;
  /** Deletes every row with `gte <= key < lt`. Not atomic: a crash leaves some of them, a repeat removes them. */
  clear(gte: Uint8Array, lt: Uint8Array): Promise<void>;
  /** Approximate stored size of these rows; recent writes may be missing. */
  approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number>;
  /** Reclaims the space of deleted and overwritten rows. Changes no row. */
  compact(gte: Uint8Array, lt: Uint8Array): Promise<void>;
  /**
   * Removes what a history has from the position on; at 0 the history itself. Returns its end: less than `position`
   * where a crash has lost or torn the end of what was not synced, which is removed too. The history was synced up to
   * `synced`, which is not after the position unless all of it is removed. Default: nothing was synced.
   */
  cutHistory(group: GroupId, position: number, synced?: HistoryEnd): Promise<number>;
  /** End of a history after the last write or cut of this process; `NO_HISTORY` before the first one. */
  historyEnd(group: GroupId): HistoryEnd;
  /**
   * Reads all of a history up to its end, of which so much was synced.
   * @throws HistoryFault for the first bytes that are damaged
   */
  verifyHistory(group: GroupId, end: number, synced: number): Promise<void>;
  /** Makes the history of `to` that of `from`, whatever it was before. Nothing else may use `to` meanwhile. */
  copyHistory(from: GroupId, to: GroupId): Promise<void>;
  /** Bytes of files that hold the history. */
  historySize(group: GroupId): Promise<number>;
  /** Every range must be closed and every write awaited before. */
  close(): Promise<void>;
}

/** Reason of the error for damage that cannot be attributed to a group. */
export const STORE_DAMAGED = 'StoreDamaged';

/** Value of `chunkBytes` when a range sets none. */
export const CHUNK_BYTES_DEFAULT: number = 64 * 1024;
