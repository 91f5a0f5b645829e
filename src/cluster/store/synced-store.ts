/**
 * A store whose every change is durable when its promise resolves, for the few changes whose order must survive a power
 * failure. The plain store may lose any unsynced batch and keep later ones.
 */
import type { GroupId } from '#base';
import type { HistoryEnd, KvBatch, KvWriter } from '#kv';

export class SyncedStore implements KvWriter {
  readonly #kv: KvWriter;
  readonly #sync: () => Promise<void>;

  /** `sync` makes every completed write of `kv` durable. */
  constructor(kv: KvWriter, sync: () => Promise<void>) {
    this.#kv = kv;
    this.#sync = sync;
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

  /** Durable by itself. */
  cutHistory(group: GroupId, position: number, synced?: HistoryEnd): Promise<number> {
    return this.#kv.cutHistory(group, position, synced);
  }
}
