/**
 * The store in memory, for tests and the simulation: the second implementation beside the one on disk.
 *
 * Rows lie in sorted leaves of at most LEAF_ROWS_MAX rows, so that a put moves one leaf and not the whole store. A
 * range takes the leaves of its moment (K3): it starts a new epoch, and whoever changes a leaf or the list of leaves
 * of an earlier epoch copies it first. Without open ranges nothing is ever copied.
 *
 * It keeps nothing after `close` and knows no files: `sync` has no meaning here.
 */
import { assert, compareBytes } from '#base';
import { CHUNK_BYTES_DEFAULT, type KvBatch, type KvRange, type KvRangeOptions, type KvRow, type KvStore } from '#kv';

const LEAF_ROWS_MAX = 128;
const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Rows in key order, never empty. Changed only in the epoch that it was made in. */
interface Leaf {
  readonly epoch: number;
  readonly rows: KvRow[];
}

interface Operation {
  readonly key: Uint8Array;
  /** Absent: delete. */
  readonly value?: Uint8Array;
}

export function memoryKv(): KvStore {
  return new MemoryKv();
}

class MemoryKv implements KvStore {
  #leaves: Leaf[] = [];
  #leavesEpoch = 0;
  #epoch = 0;
  #open = true;

  get(key: Uint8Array): Uint8Array | undefined {
    this.#assertOpen();
    const leaf = this.#leaves[leafOf(this.#leaves, key)];
    if (leaf === undefined) return undefined;
    const row = leaf.rows[firstAtLeast(leaf.rows, key)];
    return row !== undefined && compareBytes(row.key, key) === 0 ? row.value : undefined;
  }

  range(options: KvRangeOptions): KvRange {
    this.#assertOpen();
    this.#epoch++;
    return new MemoryRange(this.#leaves, options);
  }

  /** Its values are the store's own. */
  release(): void {
    this.#assertOpen();
  }

  batch(): KvBatch {
    return new MemoryBatch();
  }

  write(batch: KvBatch): Promise<void> {
    this.#assertOpen();
    assert(batch instanceof MemoryBatch, 'A batch is written by the store that made it');
    for (const { key, value } of batch.take()) {
      if (value === undefined) this.#remove(key);
      else this.#put({ key, value });
    }
    return Promise.resolve();
  }

  clear(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    this.#assertOpen();
    const kept: Leaf[] = [];
    for (const leaf of this.#leaves) {
      const from = firstAtLeast(leaf.rows, gte);
      const to = Math.max(from, firstAtLeast(leaf.rows, lt));
      const rows = from === to ? leaf.rows : [...leaf.rows.slice(0, from), ...leaf.rows.slice(to)];
      if (rows === leaf.rows) kept.push(leaf);
      else if (rows.length > 0) kept.push({ epoch: this.#epoch, rows });
    }
    this.#leaves = kept;
    this.#leavesEpoch = this.#epoch;
    return Promise.resolve();
  }

  async approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number> {
    const range = this.range({ gte, lt });
    let bytes = 0;
    for (let rows = await range.next(LEAF_ROWS_MAX); rows.length > 0; rows = await range.next(LEAF_ROWS_MAX)) {
      for (const row of rows) bytes += row.key.length + row.value.length;
    }
    await range.close();
    return bytes;
  }

  compact(): Promise<void> {
    this.#assertOpen();
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#open = false;
    this.#leaves = [];
    return Promise.resolve();
  }

  #put(row: KvRow): void {
    const at = leafOf(this.#leaves, row.key);
    if (at < 0) {
      this.#ownLeaves().push({ epoch: this.#epoch, rows: [row] });
      return;
    }
    const rows = this.#ownRows(at);
    const place = firstAtLeast(rows, row.key);
    const found = rows[place];
    const replaces = found !== undefined && compareBytes(found.key, row.key) === 0;
    rows.splice(place, replaces ? 1 : 0, row);
    // Keys that only grow leave full leaves behind them, not half full ones.
    const cut = place === LEAF_ROWS_MAX ? LEAF_ROWS_MAX : LEAF_ROWS_MAX / 2;
    if (rows.length > LEAF_ROWS_MAX)
      this.#ownLeaves().splice(at + 1, 0, { epoch: this.#epoch, rows: rows.splice(cut) });
  }

  #remove(key: Uint8Array): void {
    if (this.get(key) === undefined) return;
    const at = leafOf(this.#leaves, key);
    const rows = this.#ownRows(at);
    rows.splice(firstAtLeast(rows, key), 1);
    if (rows.length === 0) this.#ownLeaves().splice(at, 1);
  }

  #ownLeaves(): Leaf[] {
    if (this.#leavesEpoch !== this.#epoch) {
      this.#leaves = this.#leaves.slice();
      this.#leavesEpoch = this.#epoch;
    }
    return this.#leaves;
  }

  #ownRows(at: number): KvRow[] {
    const leaf = this.#leaves[at];
    assert(leaf !== undefined, 'The leaf of a key exists', at);
    if (leaf.epoch === this.#epoch) return leaf.rows;
    const own: Leaf = { epoch: this.#epoch, rows: leaf.rows.slice() };
    this.#ownLeaves()[at] = own;
    return own.rows;
  }

  #assertOpen(): void {
    assert(this.#open, 'The store is open');
  }
}

class MemoryBatch implements KvBatch {
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

  take(): readonly Operation[] {
    assert(!this.#taken, 'A batch is written once');
    this.#taken = true;
    return this.#operations;
  }
}

class MemoryRange implements KvRange {
  readonly #leaves: readonly Leaf[];
  readonly #options: KvRangeOptions;
  #left: number;
  #leaf: number;
  /** Forward: the next row of the leaf. Reverse: one above it. */
  #row: number;
  #open = true;

  constructor(leaves: readonly Leaf[], options: KvRangeOptions) {
    this.#leaves = leaves;
    this.#options = options;
    this.#left = options.limit ?? Number.POSITIVE_INFINITY;
    const start = options.reverse === true ? options.lt : options.gte;
    this.#leaf = Math.max(0, leafOf(leaves, start));
    this.#row = firstAtLeast(leaves[this.#leaf]?.rows ?? [], start);
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
    const row = this.#options.reverse === true ? this.#stepDown() : this.#stepUp();
    if (row === undefined) return undefined;
    const inside = compareBytes(row.key, this.#options.gte) >= 0 && compareBytes(row.key, this.#options.lt) < 0;
    if (!inside) this.#left = 0;
    return inside ? row : undefined;
  }

  #stepUp(): KvRow | undefined {
    while (this.#leaf < this.#leaves.length) {
      const row = this.#leaves[this.#leaf]?.rows[this.#row++];
      if (row !== undefined) return row;
      this.#leaf++;
      this.#row = 0;
    }
    return undefined;
  }

  #stepDown(): KvRow | undefined {
    while (this.#leaf >= 0) {
      const row = this.#leaves[this.#leaf]?.rows[--this.#row];
      if (row !== undefined) return row;
      this.#leaf--;
      this.#row = this.#leaves[this.#leaf]?.rows.length ?? 0;
    }
    return undefined;
  }
}

/** The leaf that holds `key` if any does: the last one that starts at or before it, else the first; -1 when none. */
function leafOf(leaves: readonly Leaf[], key: Uint8Array): number {
  let low = 0;
  let high = leaves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const first = leaves[middle]?.rows[0];
    if (first !== undefined && compareBytes(first.key, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return leaves.length === 0 ? -1 : Math.max(0, low - 1);
}

/** The place of the first row at or above `key`; the number of rows when all are below it. */
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
