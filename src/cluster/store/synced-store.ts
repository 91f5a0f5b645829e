/**
 * A store whose every change is durable when its promise resolves, for the few changes whose order must survive a power
 * failure. The plain store may lose any unsynced batch and keep later ones.
 */
import type { KvBatch, KvRange, KvRangeOptions, KvStore } from '#kv';

export class SyncedStore implements KvStore {
  readonly #kv: KvStore;
  readonly #sync: () => Promise<void>;

  /** `sync` makes every completed write of `kv` durable. */
  constructor(kv: KvStore, sync: () => Promise<void>) {
    this.#kv = kv;
    this.#sync = sync;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#kv.get(key);
  }

  range(options: KvRangeOptions): KvRange {
    return this.#kv.range(options);
  }

  release(value: Uint8Array): void {
    this.#kv.release(value);
  }

  batch(): KvBatch {
    return this.#kv.batch();
  }

  async write(batch: KvBatch): Promise<void> {
    await this.#kv.write(batch);
    await this.#sync();
  }

  async clear(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    await this.#kv.clear(gte, lt);
    await this.#sync();
  }

  async approximateSize(gte: Uint8Array, lt: Uint8Array): Promise<number> {
    return this.#kv.approximateSize(gte, lt);
  }

  async compact(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    await this.#kv.compact(gte, lt);
  }

  async close(): Promise<void> {
    await this.#kv.close();
  }
}
