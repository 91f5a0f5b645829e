// A store reader that reads a history asynchronously, returns nothing beyond what was asked for, and overwrites what it
// lent when its memory is reset, so that a use after that gives a wrong result.
import type { HistoryReader, KvRange, KvRangeOptions, KvReader, ReadMemory } from '#kv';

const SPOILT = 0xee;

export class LendingReader implements KvReader {
  readonly #reader: KvReader;
  readonly #lent = new Map<ReadMemory, Uint8Array[]>();
  readonly history: HistoryReader;
  /** Number of reads whose memory was reset. */
  releases = 0;

  constructor(reader: KvReader) {
    this.#reader = reader;
    const read: HistoryReader['read'] = (group, range, memory) =>
      this.#lend(reader.history.read(group, range).subarray(0, range.to - range.from), memory);
    const readAll: HistoryReader['readAll'] = async (group, ranges, memory) =>
      ranges.map((range) => read(group, range, memory));
    this.history = { read, readAll };
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#reader.get(key);
  }

  range(options: KvRangeOptions): KvRange {
    return this.#reader.range(options);
  }

  #lend(bytes: Uint8Array, memory: ReadMemory | undefined): Uint8Array {
    const copy = memory?.take(bytes.length) ?? new Uint8Array(bytes.length);
    copy.set(bytes);
    if (memory !== undefined) this.#lentFrom(memory).push(copy);
    return copy;
  }

  #lentFrom(memory: ReadMemory): Uint8Array[] {
    const known = this.#lent.get(memory);
    if (known !== undefined) return known;
    const lent: Uint8Array[] = [];
    const reset = memory.reset.bind(memory);
    memory.reset = (): void => {
      this.releases += lent.length;
      for (const bytes of lent.splice(0)) bytes.fill(SPOILT);
      reset();
    };
    this.#lent.set(memory, lent);
    return lent;
  }
}
