// A store reader that counts calls, rows and bytes, to measure the cost of a read without a clock.
import type { HistoryReader, KvRange, KvRangeOptions, KvReader, KvRow } from '#kv';

export class CountingReader implements KvReader {
  readonly #reader: KvReader;
  gets = 0;
  /** Ranges opened so far, and ranges that are still open. */
  ranges = 0;
  openRanges = 0;
  /** Rows and bytes that gets and ranges returned. */
  rows = 0;
  bytes = 0;
  /** Ranges of histories that were read, and their bytes. */
  historyReads = 0;
  historyBytes = 0;

  constructor(reader: KvReader) {
    this.#reader = reader;
  }

  reset(): void {
    this.gets = 0;
    this.ranges = 0;
    this.rows = 0;
    this.bytes = 0;
    this.historyReads = 0;
    this.historyBytes = 0;
  }

  get history(): HistoryReader {
    const { history } = this.#reader;
    return {
      read: (group, range, memory) => {
        this.historyReads++;
        this.historyBytes += range.to - range.from;
        return history.read(group, range, memory);
      },
      readAll: (group, ranges, memory) => {
        this.historyReads += ranges.length;
        for (const { from, to } of ranges) this.historyBytes += to - from;
        return history.readAll(group, ranges, memory);
      },
    };
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#reader.get(key);
    this.gets++;
    this.bytes += value?.length ?? 0;
    return value;
  }

  release(value: Uint8Array): void {
    this.#reader.release(value);
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
}
