/**
 * The trash: clears the rows of deleted databases in the background, a bounded slice at a time.
 *
 * A trash row is written in the same batch as the catalog's delete, and removed when nothing of the group is left, so
 * a restart goes on where the last process stopped (C8). The rows are left alone for a while first: the group is closed
 * and its id never used again, but a read that began before the delete may still be looking at them.
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

interface Waiting {
  readonly group: GroupId;
  readonly dueMs: number;
}

export class Trash {
  readonly #ports: TrashPorts;
  /** In the order of their due times, for each waits as long as the others. */
  readonly #queue = new Fifo<Waiting>();
  #isRunning = false;
  #isClosed = false;

  constructor(ports: TrashPorts) {
    this.#ports = ports;
  }

  /** When the next group is due; undefined when there is none, or one is being cleared. */
  get deadlineMs(): number | undefined {
    return this.#isRunning || this.#isClosed ? undefined : this.#queue.peek()?.dueMs;
  }

  isDue(nowMs: number): boolean {
    return this.deadlineMs !== undefined && this.deadlineMs <= nowMs;
  }

  /** Marks a group in the batch that deletes it. */
  mark(batch: KvBatch, group: GroupId): void {
    batch.put(trashKey(group), writeTrash());
  }

  /** Queues a group whose mark is written. */
  add(group: GroupId, dueMs: number): void {
    this.#queue.push({ group, dueMs });
  }

  /** Queues what an earlier process left; nobody reads it any more. */
  async recover(nowMs: number): Promise<void> {
    const { kv, sliceRows } = this.#ports;
    const range = kv.range(trashRows());
    try {
      for (let rows = await range.next(sliceRows); rows.length > 0; rows = await range.next(sliceRows)) {
        for (const { key, value } of rows) this.add(readTrash(key, value), nowMs);
      }
    } finally {
      await range.close();
    }
  }

  /** Clears the next group. One call at a time; `isDue` says whether one is needed. */
  async run(): Promise<void> {
    const { kv, rowsOf, syncStore } = this.#ports;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#isRunning = true;
    const rows = rowsOf(next.group);
    if (await this.#clear(rows)) {
      await kv.compact(rows.gte, rows.lt);
      // A power failure may lose deletions in any order: the mark goes only when all of them are durable.
      await syncStore();
      const batch = kv.batch();
      batch.del(trashKey(next.group));
      await kv.write(batch);
    }
    this.#isRunning = false;
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
