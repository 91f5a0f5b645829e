// A store reader that counts calls, rows, reads of a history and bytes, to measure the cost of a read without a clock.
import type { HistoryRange, HistoryReader, KvRange, KvRangeOptions, KvReader, KvRow } from '#kv';

/** Bytes of a history that are read from a disk together. */
const BLOCK_BYTES = 4092;

export class CountingReader implements KvReader {
  readonly #reader: KvReader;
  readonly history: HistoryReader;
  gets = 0;
  /** Ranges opened so far, and ranges that are still open. */
  ranges = 0;
  openRanges = 0;
  /** Rows that ranges returned. */
  rows = 0;
  /** Calls that read the history, each of which may wait for the disk once, and ranges that they read. */
  waits = 0;
  reads = 0;
  /** Bytes of rows, and of blocks of the history. */
  bytes = 0;

  constructor(reader: KvReader) {
    this.#reader = reader;
    this.history = {
      read: (group, range) => this.#counted([range], [reader.history.read(group, range)])[0] ?? new Uint8Array(0),
      readAll: (group, ranges) =>
        this.#counted(
          ranges,
          ranges.map((range) => reader.history.read(group, range)),
        ),
    };
  }

  reset(): void {
    this.gets = 0;
    this.ranges = 0;
    this.rows = 0;
    this.waits = 0;
    this.reads = 0;
    this.bytes = 0;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#reader.get(key);
    this.gets++;
    this.bytes += value?.length ?? 0;
    return value;
  }

  range(options: KvRangeOptions): KvRange {
    const range = this.#reader.range(options);
    this.ranges++;
    this.openRanges++;
    let isOpen = true;
    return {
      next: async (count: number): Promise<readonly KvRow[]> => {
        const rows = await range.next(count);
        this.rows += rows.length;
        for (const { key, value } of rows) this.bytes += key.length + value.length;
        return rows;
      },
      close: async (): Promise<void> => {
        if (isOpen) this.openRanges--;
        isOpen = false;
        await range.close();
      },
    };
  }

  /** Cuts what was read after its last block, as a disk does. */
  #counted(ranges: readonly HistoryRange[], read: readonly Uint8Array[]): readonly Uint8Array[] {
    this.waits++;
    this.reads += ranges.length;
    return ranges.map(({ from, to }, place) => {
      const end = Math.ceil(to / BLOCK_BYTES) * BLOCK_BYTES;
      this.bytes += end - Math.floor(from / BLOCK_BYTES) * BLOCK_BYTES;
      return read[place]?.subarray(0, end - from) ?? new Uint8Array(0);
    });
  }
}
