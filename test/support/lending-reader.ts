// A reader of a store whose values are copies of its own, spoilt as soon as they are released: what looks at one
// afterwards gives a wrong answer, and not the right one by luck.
import type { KvRange, KvRangeOptions, KvReader, KvRow } from '#kv';

const SPOILT = 0xee;

export class LendingReader implements KvReader {
  readonly #reader: KvReader;
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
