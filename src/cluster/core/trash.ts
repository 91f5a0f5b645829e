/**
 * The trash: clears the rows of deleted databases in the background, a bounded slice at a time.
 *
 * A trash row is written in the same batch as the catalog's delete, and removed when nothing of the group is left, so
 * a restart goes on where the last process stopped (C8). The rows are left alone for a while first: the group is closed
 * and its id never used again, but a read that began before the delete may still be looking at them.
 */
import { Fifo, type GroupId } from '#base';
import type { KvBatch, KvStore } from '#kv';
import type { CoreLimits } from '../limits.ts';
import type { KeyRange, Machines } from '../machine.ts';
import { readTrash, trashKey, trashRows, writeTrash } from '../store/node-rows.ts';

export interface TrashPorts {
  readonly kv: KvStore;
  readonly machines: Pick<Machines, 'rowsOf'>;
  /** Makes every write that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  readonly limits: Pick<CoreLimits, 'trashSliceRows'>;
  /** Nothing of the group is left in the store, nor its mark. */
  readonly cleared: (group: GroupId) => Promise<void>;
}

interface Waiting {
  readonly group: GroupId;
  readonly dueMs: number;
}

export class Trash {
  readonly #ports: TrashPorts;
  /** In the order of their due times, for each waits as long as the others. */
  readonly #queue = new Fifo<Waiting>();
  /** How often each group is marked and not cleared since: one may end, and be held and end again meanwhile. */
  readonly #marks = new Map<GroupId, number>();
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
    this.#count(group, 1);
    batch.put(trashKey(group), writeTrash());
  }

  /** Whether rows of the group may be left that are to be cleared. */
  has(group: GroupId): boolean {
    return this.#marks.has(group);
  }

  /** Queues a group whose mark is written, and whose log has ended. */
  add(group: GroupId, dueMs: number): void {
    this.#queue.push({ group, dueMs });
  }

  /**
   * Queues what an earlier process left; nobody reads it any more. Answers what it has not queued: groups of which the
   * log still holds something, and whose marks are needed until that has ended.
   */
  async recover(nowMs: number, isLogged: (group: GroupId) => boolean): Promise<ReadonlySet<GroupId>> {
    const { kv, limits } = this.#ports;
    const unended = new Set<GroupId>();
    const sliceRows = limits.trashSliceRows;
    const range = kv.range(trashRows());
    try {
      for (let rows = await range.next(sliceRows); rows.length > 0; rows = await range.next(sliceRows)) {
        for (const { key, value } of rows) {
          const group = readTrash(key, value);
          this.#count(group, 1);
          if (isLogged(group)) unended.add(group);
          else this.add(group, nowMs);
        }
      }
    } finally {
      await range.close();
    }
    return unended;
  }

  /** Clears the next group. One call at a time; `isDue` says whether one is needed. */
  async run(): Promise<void> {
    const { kv, machines, syncStore } = this.#ports;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#isRunning = true;
    const rows = machines.rowsOf(next.group);
    if (await this.#clear(rows)) {
      await kv.compact(rows.gte, rows.lt);
      // A power failure may lose deletions in any order: the mark goes only when all of them are durable.
      await syncStore();
      await this.#unmark(next.group);
    }
    this.#isRunning = false;
  }

  /** Stops after the current slice; the rest is cleared after the next start. */
  close(): void {
    this.#isClosed = true;
  }

  /** Durably: what comes after must not be taken for what was cleared. */
  async #unmark(group: GroupId): Promise<void> {
    const { kv, cleared } = this.#ports;
    if (this.#marks.get(group) === 1) {
      const batch = kv.batch();
      batch.del(trashKey(group));
      await kv.write(batch, { sync: true });
    }
    this.#count(group, -1);
    if (!this.has(group)) await cleared(group);
  }

  #count(group: GroupId, by: 1 | -1): void {
    const count = (this.#marks.get(group) ?? 0) + by;
    if (count > 0) this.#marks.set(group, count);
    else this.#marks.delete(group);
  }

  /** False when it stopped before the end. */
  async #clear(rows: KeyRange): Promise<boolean> {
    const { kv, limits } = this.#ports;
    const range = kv.range({ ...rows, values: false });
    try {
      for (;;) {
        if (this.#isClosed) return false;
        const slice = await range.next(limits.trashSliceRows);
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
