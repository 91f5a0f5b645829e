// A store in memory that may lose any combination of unsynced batches in a crash. This is LevelDB's worst case after a
// power failure: a synced batch may survive while an earlier unsynced one does not. Histories lose everything that was
// not synced unless all batches survive.
import { assert, type GroupId } from '#base';
import type { HistoryReader, KvBatch, KvRange, KvRangeOptions, KvStore, KvWriteOptions } from '#kv';
import { memoryKv } from '../memory-kv.ts';
import { type Operation, RecordedBatch, replay } from '../recorded-batch.ts';
import { SegmentHistories } from '../segment-histories.ts';

export class LossyKv implements KvStore {
  readonly #visible = memoryKv();
  readonly #segments: SegmentHistories;
  readonly #journal: { readonly operations: readonly Operation[]; isDurable: boolean }[] = [];
  /** Writes wait for this promise, so that a test can observe the state between a commit and its application. */
  gate: Promise<void> = Promise.resolve();
  /** Number of rows of each write. */
  readonly writes: number[] = [];

  constructor(segments: SegmentHistories = new SegmentHistories()) {
    this.#segments = segments;
  }

  get history(): HistoryReader {
    return this.#segments.history;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#visible.get(key);
  }

  range(options: KvRangeOptions): KvRange {
    return this.#visible.range(options);
  }

  release(value: Uint8Array): void {
    this.#visible.release(value);
  }

  batch(): KvBatch {
    return new RecordedBatch();
  }

  async write(batch: KvBatch, options: KvWriteOptions = {}): Promise<void> {
    assert(batch instanceof RecordedBatch, 'A batch is written by the store that made it');
    await this.gate;
    this.writes.push(batch.count);
    await this.#segments.writer.append(batch.appends);
    if (options.sync === true && batch.appends.size > 0) await this.#segments.writer.sync();
    this.#journal.push({ operations: batch.operations, isDurable: options.sync ?? false });
    await replay(this.#visible, batch.operations);
  }

  async clear(gte: Uint8Array, lt: Uint8Array): Promise<void> {
    const range = this.range({ gte, lt, values: false });
    for (let rows = await range.next(100); rows.length > 0; rows = await range.next(100)) {
      const batch = this.batch();
      for (const { key } of rows) batch.del(key);
      await this.write(batch);
    }
    await range.close();
  }

  cutHistory(group: GroupId, position: number): Promise<number> {
    return this.#segments.writer.cut(group, position);
  }

  copyHistory(from: GroupId, to: GroupId): Promise<void> {
    return this.#segments.writer.copy(from, to);
  }

  historySize(group: GroupId): Promise<number> {
    return this.#segments.writer.size(group);
  }

  async approximateSize(): Promise<number> {
    return 0;
  }

  async compact(): Promise<void> {}

  async close(): Promise<void> {
    await this.#visible.close();
  }

  /** Makes everything written so far durable. */
  async checkpointFiles(): Promise<void> {
    const covered = [...this.#journal];
    await this.#segments.writer.sync();
    for (const write of covered) write.isDurable = true;
  }

  /** Number of batches that a power failure may lose. */
  get unsyncedCount(): number {
    return this.#journal.filter((write) => !write.isDurable).length;
  }

  /** The store after a crash; `survives` decides for each unsynced batch, by its number. */
  async crash(survives: (unsynced: number) => boolean): Promise<LossyKv> {
    const areKept = Array.from({ length: this.unsyncedCount }, (_, number) => survives(number)).every(Boolean);
    const segments = this.#segments.afterPowerLoss({ sector: () => areKept, name: () => areKept });
    const next = new LossyKv(segments);
    let unsynced = 0;
    for (const { operations, isDurable } of this.#journal) {
      const survived = isDurable || survives(unsynced);
      if (!isDurable) unsynced += 1;
      if (!survived) continue;
      await replay(next.#visible, operations);
      next.#journal.push({ operations, isDurable: true });
    }
    return next;
  }
}
