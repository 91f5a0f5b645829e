// A store reader that returns copies of values and overwrites them when they are released, so that a use after release
// gives a wrong result.
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
