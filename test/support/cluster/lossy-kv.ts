// A store in memory that may lose any combination of unsynced batches in a crash. This is LevelDB's worst case after a
// power failure: a batch may survive while an earlier one does not. Rows of the ledger are durable at once. Histories
// lose everything that was not synced unless all batches survive.
import { assert, type GroupId } from '#base';
import type { HistoryEnd, HistoryReader, KvBatch, KvRange, KvRangeOptions, KvStore } from '#kv';
import { isOfLedger } from '../../../src/cluster/store/ledger-store.ts';
import { Histories } from '../../../src/storage/segments/histories.ts';
import { memoryKv } from '../memory-kv.ts';
import { MemorySegmentDisk } from '../memory-segment-disk.ts';
import { type Operation, RecordedBatch, replay } from '../recorded-batch.ts';
import { simulated } from '../segment-histories.ts';

export class LossyKv implements KvStore {
  readonly #visible = memoryKv();
  readonly disk: MemorySegmentDisk;
  readonly #histories: Histories;
  readonly #journal: { readonly operations: readonly Operation[]; isDurable: boolean }[] = [];
  /** Writes wait for this promise, so that a test can observe the state between a commit and its application. */
  gate: Promise<void> = Promise.resolve();
  /** Number of rows of each write. */
  readonly writes: number[] = [];

  constructor(disk: MemorySegmentDisk = new MemorySegmentDisk()) {
    this.disk = disk;
    this.#histories = new Histories(simulated(disk));
  }

  get history(): HistoryReader {
    return this.#histories.reader;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#visible.get(key);
  }

  range(options: KvRangeOptions): KvRange {
    return this.#visible.range(options);
  }

  batch(): KvBatch {
    return new RecordedBatch();
  }

  async write(batch: KvBatch): Promise<void> {
    assert(batch instanceof RecordedBatch, 'A batch is written by the store that made it');
    await this.gate;
    this.writes.push(batch.count);
    await this.#histories.append(batch.appends);
    await this.#keep(batch);
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

  cutHistory(group: GroupId, position: number, synced?: HistoryEnd): Promise<number> {
    return this.#histories.cut(group, position, synced);
  }

  historyEnd(group: GroupId): HistoryEnd {
    return this.#histories.end(group);
  }

  verifyHistory(group: GroupId, end: number, synced: number): Promise<void> {
    return this.#histories.verify(group, end, synced);
  }

  copyHistory(from: GroupId, to: GroupId): Promise<void> {
    return this.#histories.copy(from, to);
  }

  historySize(group: GroupId): Promise<number> {
    return this.#histories.size(group);
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
    await this.#histories.sync();
    for (const write of this.#journal) write.isDurable = true;
  }

  /** Number of batches that a power failure may lose. */
  get unsyncedCount(): number {
    return this.#journal.filter((write) => !write.isDurable).length;
  }

  /** The store after a crash; `survives` decides for each unsynced batch, by its number. */
  async crash(survives: (unsynced: number) => boolean): Promise<LossyKv> {
    const areKept = Array.from({ length: this.unsyncedCount }, (_, number) => survives(number)).every(Boolean);
    const next = new LossyKv(this.disk.afterPowerLoss({ sector: () => areKept, name: () => areKept }));
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

  async #keep({ operations }: RecordedBatch): Promise<void> {
    for (const isDurable of [false, true]) {
      const some = operations.filter(({ key }) => isOfLedger(key) === isDurable);
      if (some.length > 0) this.#journal.push({ operations: some, isDurable });
    }
    await replay(this.#visible, operations);
  }
}
