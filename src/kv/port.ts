/**
 * The port: what the rest of Cairn may ask of an ordered store of rows.
 *
 * It is narrow on purpose. Reading one key is synchronous, because applying an entry is; walking a range is not,
 * because the disk engine cannot do it otherwise. There are no transactions, no merge operators, no column families.
 */

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
  /** Rows at most, over the whole range. Default: all. */
  readonly limit?: number;
  /** False leaves the values out, which saves their copies. Default true. */
  readonly values?: boolean;
  /** About how many bytes of keys and values one call of `next` gathers before it answers early. Default 64 KiB. */
  readonly chunkBytes?: number;
  /** False keeps a long walk from pushing what others read often out of the store's cache. Default true. */
  readonly fillCache?: boolean;
}

/**
 * A walk over a range as it was when `range` was called (K3). Whoever opens one closes it, also when it is exhausted.
 * One call of `next` at a time.
 */
export interface KvRange {
  /** Up to `count` rows (1 or more), fewer when `chunkBytes` is reached; none only at the end (K6). */
  next(count: number): Promise<readonly KvRow[]>;
  /** Gives the read view back. Closing twice is allowed; `next` after it is a bug. */
  close(): Promise<void>;
}

export interface KvReader {
  /** The value of a key, or undefined. Sees every write whose promise has resolved (K4). */
  get(key: Uint8Array): Uint8Array | undefined;
  range(options: KvRangeOptions): KvRange;
  /**
   * Says of a value that this reader handed out that nobody looks at it again (K9): a store that made it for the caller
   * takes the memory back at once instead of leaving it to the garbage collector. Never needed, and worth it for values
   * of kilobytes that are read by the thousand.
   */
  release(value: Uint8Array): void;
}

/** Rows to be written together (K2). Written at most once, by the store that made it. */
export interface KvBatch {
  /** Takes copies: both arrays may be reused at once (K5). */
  put(key: Uint8Array, value: Uint8Array): void;
  del(key: Uint8Array): void;
  /** Bytes of the keys and values so far. */
  readonly byteLength: number;
  /** Operations so far. */
  readonly count: number;
}

export interface KvWriteOptions {
  /** True: the rows are on stable storage when the promise resolves. Default false: they survive the process only. */
  readonly sync?: boolean;
}

/** One writer, any number of readers. A failed write or read is a `DatabaseError` of code internal, with its cause. */
export interface KvStore extends KvReader {
  batch(): KvBatch;
  write(batch: KvBatch, options?: KvWriteOptions): Promise<void>;
  /** Deletes every row with `gte <= key < lt`. Not atomic: a crash leaves some of them, a repeat finishes the job. */
  clear(gte: Uint8Array, lt: Uint8Array): Promise<void>;
  /** About how many bytes these rows take where they are stored; rows written just now may be missing. */
  approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number>;
  /** Gives the space of deleted and overwritten rows back. Changes no row. */
  compact(gte: Uint8Array, lt: Uint8Array): Promise<void>;
  /** Every range is closed and every write awaited before. */
  close(): Promise<void>;
}

/** The part of a store that changes rows. */
export type KvWriter = Pick<KvStore, 'batch' | 'write' | 'clear'>;

/** What `chunkBytes` is when a range does not say. */
export const CHUNK_BYTES_DEFAULT: number = 64 * 1024;
