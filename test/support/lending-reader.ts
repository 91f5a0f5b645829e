// A store reader that returns copies of values and overwrites them when they are released, so that a use after release
// gives a wrong result. The same for bytes of histories when their memory is reset.
import { type HistoryReader, type KvRange, type KvRangeOptions, type KvReader, type KvRow, ReadMemory } from '#kv';

const SPOILT = 0xee;

export class LendingReader implements KvReader {
  readonly #reader: KvReader;
  readonly #lent = new WeakMap<ReadMemory, Uint8Array[]>();
  releases = 0;

  constructor(reader: KvReader) {
    this.#reader = reader;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#reader.get(key)?.slice();
  }

  release(value: Uint8Array): void {
    this.releases++;
    value.fill(SPOILT);
  }

  get history(): HistoryReader {
    const { history } = this.#reader;
    return {
      read: (group, range, memory) => this.#lend(history.read(group, range), memory),
      readAll: async (group, ranges, memory) =>
        (await history.readAll(group, ranges)).map((bytes) => this.#lend(bytes, memory)),
    };
  }

  #lend(bytes: Uint8Array, memory = new ReadMemory()): Uint8Array {
    const copy = memory.take(bytes.length);
    copy.set(bytes);
    const lent = this.#lent.get(memory) ?? [];
    lent.push(copy);
    if (this.#lent.has(memory)) return copy;
    this.#lent.set(memory, lent);
    memory.reset = () => {
      for (const each of lent.splice(0)) each.fill(SPOILT);
      this.releases++;
      ReadMemory.prototype.reset.call(memory);
    };
    return copy;
  }

  range(options: KvRangeOptions): KvRange {
    const range = this.#reader.range(options);
    return {
      next: async (count: number): Promise<readonly KvRow[]> => {
        const rows = await range.next(count);
        return rows.map(({ key, value }) => ({ key, value: value.slice() }));
      },
      close: () => range.close(),
    };
  }
}
