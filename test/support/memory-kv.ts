// An implementation of the kv port in memory, for tests and the simulation.
//
// Rows are in one sorted immutable array: a write merges its batch into a new array, and a range keeps the array of its
// creation (K3). Nothing survives `close`.
import { assert, compareBytes, type GroupId } from '#base';
import {
  CHUNK_BYTES_DEFAULT,
  type HistoryAppend,
  type HistoryEnd,
  type HistoryReader,
  type KvBatch,
  type KvRange,
  type KvRangeOptions,
  type KvRow,
  type KvStore,
} from '#kv';
import { MemoryHistories } from './memory-histories.ts';

const NO_BYTES: Uint8Array = new Uint8Array(0);

interface Operation {
  readonly key: Uint8Array;
  /** Absent: a deletion. */
  readonly value?: Uint8Array;
}

export function memoryKv(): KvStore {
  return new MemoryKv();
}

class MemoryKv implements KvStore {
  readonly #histories = new MemoryHistories();
  #rows: readonly KvRow[] = [];
  #open = true;

  get history(): HistoryReader {
    this.#assertOpen();
    return this.#histories;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#assertOpen();
    const row = this.#rows[firstAtLeast(this.#rows, key)];
    return row !== undefined && compareBytes(row.key, key) === 0 ? row.value : undefined;
  }

  range(options: KvRangeOptions): KvRange {
    this.#assertOpen();
    return new MemoryRange(this.#rows, options);
  }

  batch(): KvBatch {
    return new MemoryBatch();
  }

  write(batch: KvBatch): Promise<void> {
    this.#assertOpen();
    assert(batch instanceof MemoryBatch, 'A batch is written by the store that made it');
    const { operations, appends } = batch.take();
    for (const [group, records] of appends) this.#histories.append(group, records);
    this.#rows = merged(this.#rows, operations);
    return Promise.resolve();
  }

  clear(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    this.#assertOpen();
    const from = firstAtLeast(this.#rows, gte);
    this.#rows = this.#rows.toSpliced(from, Math.max(0, firstAtLeast(this.#rows, lt) - from));
    return Promise.resolve();
  }

  approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number> {
    this.#assertOpen();
    const rows = this.#rows.slice(firstAtLeast(this.#rows, gte), firstAtLeast(this.#rows, lt));
    return Promise.resolve(rows.reduce((size, { key, value }) => size + key.length + value.length, 0));
  }

  compact(): Promise<void> {
    this.#assertOpen();
    return Promise.resolve();
  }

  cutHistory(group: GroupId, position: number): Promise<number> {
    this.#assertOpen();
    return Promise.resolve(this.#histories.cut(group, position));
  }

  historyEnd(group: GroupId): HistoryEnd {
    this.#assertOpen();
    return { end: this.#histories.size(group), crc: 0 };
  }

  async verifyHistory(group: GroupId, end: number): Promise<void> {
    this.history.read(group, { from: 0, to: end });
  }

  copyHistory(from: GroupId, to: GroupId): Promise<void> {
    this.#assertOpen();
    this.#histories.copy(from, to);
    return Promise.resolve();
  }

  historySize(group: GroupId): Promise<number> {
    this.#assertOpen();
    return Promise.resolve(this.#histories.size(group));
  }

  close(): Promise<void> {
    this.#open = false;
    this.#rows = [];
    this.#histories.clear();
    return Promise.resolve();
  }

  #assertOpen(): void {
    assert(this.#open, 'The store is open');
  }
}

class MemoryBatch implements KvBatch {
  readonly #appends: Map<GroupId, HistoryAppend> = new Map();
  #operations: Operation[] = [];
  #taken = false;
  #byteLength = 0;

  get byteLength(): number {
    return this.#byteLength;
  }

  get count(): number {
    return this.#operations.length;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#operations.push({ key: key.slice(), value: value.slice() });
    this.#byteLength += key.length + value.length;
  }

  del(key: Uint8Array): void {
    this.#operations.push({ key: key.slice() });
    this.#byteLength += key.length;
  }

  append(group: GroupId, records: HistoryAppend): void {
    assert(!this.#appends.has(group), 'A batch has the records of a group once', group);
    this.#appends.set(group, records);
    this.#byteLength += records.bytes.length;
  }

  take(): { readonly operations: readonly Operation[]; readonly appends: ReadonlyMap<GroupId, HistoryAppend> } {
    assert(!this.#taken, 'A batch is written once');
    this.#taken = true;
    return { operations: this.#operations, appends: this.#appends };
  }
}

class MemoryRange implements KvRange {
  readonly #rows: readonly KvRow[];
  readonly #options: KvRangeOptions;
  #left: number;
  #at: number;
  #open = true;

  constructor(rows: readonly KvRow[], options: KvRangeOptions) {
    this.#rows = rows;
    this.#options = options;
    this.#left = options.limit ?? Number.POSITIVE_INFINITY;
    this.#at = options.reverse === true ? firstAtLeast(rows, options.lt) - 1 : firstAtLeast(rows, options.gte);
  }

  next(count: number): Promise<readonly KvRow[]> {
    assert(this.#open, 'A closed range is not read');
    assert(count >= 1, 'A range is read by one row or more', count);
    const { values = true, chunkBytes = CHUNK_BYTES_DEFAULT } = this.#options;
    const rows: KvRow[] = [];
    let bytes = 0;
    while (rows.length < count && bytes < chunkBytes && this.#left > 0) {
      const row = this.#step();
      if (row === undefined) break;
      this.#left--;
      rows.push(values ? row : { key: row.key, value: NO_BYTES });
      bytes += row.key.length + (values ? row.value.length : 0);
    }
    return Promise.resolve(rows);
  }

  close(): Promise<void> {
    this.#open = false;
    return Promise.resolve();
  }

  #step(): KvRow | undefined {
    const row = this.#rows[this.#at];
    this.#at += this.#options.reverse === true ? -1 : 1;
    if (row === undefined) return undefined;
    const inside = compareBytes(row.key, this.#options.gte) >= 0 && compareBytes(row.key, this.#options.lt) < 0;
    if (!inside) this.#left = 0;
    return inside ? row : undefined;
  }
}

/** The rows after these operations, of which the last one for a key wins. */
function merged(rows: readonly KvRow[], operations: readonly Operation[]): readonly KvRow[] {
  const sorted = operations.toSorted((left, right) => compareBytes(left.key, right.key));
  const result: KvRow[] = [];
  let taken = 0;
  for (const [place, { key, value }] of sorted.entries()) {
    const next = sorted[place + 1];
    if (next !== undefined && compareBytes(next.key, key) === 0) continue;
    const at = firstAtLeast(rows, key);
    for (const row of rows.slice(taken, at)) result.push(row);
    const found = rows[at];
    taken = found !== undefined && compareBytes(found.key, key) === 0 ? at + 1 : at;
    if (value !== undefined) result.push({ key, value });
  }
  return result.concat(rows.slice(taken));
}

/** Index of the first row at or above `key`; the number of rows when all are below it. */
function firstAtLeast(rows: readonly KvRow[], key: Uint8Array): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && compareBytes(row.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
