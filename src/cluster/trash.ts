/**
 * The trash: clears the rows of deleted databases in the background, a bounded slice at a time.
 *
 * A trash row is written in the same batch as the catalog's delete, and removed when nothing of the group is left, so
 * a restart goes on where the last process stopped (C8). Nobody reads the rows any more: the group is closed, and its
 * id is never used again.
 */
import type { GroupId } from '#base';
import type { KvBatch, KvStore } from '#kv';
import { Fifo } from './fifo.ts';
import type { KeyRange } from './machine.ts';
import { readTrash, trashKey, trashRows, writeTrash } from './node-rows.ts';

export interface TrashPorts {
  readonly kv: KvStore;
  readonly rowsOf: (group: GroupId) => KeyRange;
  /** Makes every write that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  readonly sliceRows: number;
}

export class Trash {
  readonly #ports: TrashPorts;
  readonly #queue = new Fifo<GroupId>();
  #isClosed = false;

  constructor(ports: TrashPorts) {
    this.#ports = ports;
  }

  get length(): number {
    return this.#queue.length;
  }

  /** Marks a group in the batch that deletes it. */
  mark(batch: KvBatch, group: GroupId): void {
    batch.put(trashKey(group), writeTrash());
  }

  /** Queues a group whose mark is written. */
  add(group: GroupId): void {
    this.#queue.push(group);
  }

  /** Queues what an earlier process left. */
  async recover(): Promise<void> {
    const { kv, sliceRows } = this.#ports;
    const range = kv.range(trashRows());
    try {
      for (let rows = await range.next(sliceRows); rows.length > 0; rows = await range.next(sliceRows)) {
        for (const { key, value } of rows) this.add(readTrash(key, value));
      }
    } finally {
      await range.close();
    }
  }

  /** Clears what is queued. One call at a time. */
  async run(): Promise<void> {
    const { kv, rowsOf, syncStore } = this.#ports;
    for (let group = this.#queue.peek(); group !== undefined && !this.#isClosed; group = this.#queue.peek()) {
      const rows = rowsOf(group);
      const isCleared = await this.#clear(rows);
      if (!isCleared) return;
      await kv.compact(rows.gte, rows.lt);
      // A power failure may lose deletions in any order: the mark goes only when all of them are durable.
      await syncStore();
      const batch = kv.batch();
      batch.del(trashKey(group));
      await kv.write(batch);
      this.#queue.shift();
    }
  }

  /** Stops after the current slice; the rest is cleared after the next start. */
  close(): void {
    this.#isClosed = true;
  }

  /** False when it stopped before the end. */
  async #clear(rows: KeyRange): Promise<boolean> {
    const { kv, sliceRows } = this.#ports;
    const range = kv.range({ ...rows, values: false });
    try {
      for (;;) {
        if (this.#isClosed) return false;
        const slice = await range.next(sliceRows);
        if (slice.length === 0) return true;
        const batch = kv.batch();
        for (const { key } of slice) batch.del(key);
        await kv.write(batch);
      }
    } finally {
      await range.close();
    }
  }
}
