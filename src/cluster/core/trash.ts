/**
 * The trash: deletes rows and histories of deleted databases in the background, the rows in bounded slices.
 *
 * A trash row is written in the same batch as the deletion in the catalog, and removed when nothing of the group is
 * left, so a restart continues where the last process stopped (C8). The rows are kept for a while first: the group is
 * closed and its id is never used again, but a read that started before the deletion may still use them.
 */
import { Fifo, type GroupId } from '#base';
import type { KvBatch, KvStore } from '#kv';
import type { CoreLimits } from '../limits.ts';
import type { KeyRange, Machines } from '../machine.ts';
import { readTrash, trashKey, writeTrash } from '../store/node-rows.ts';

export interface TrashPorts {
  readonly kv: KvStore;
  readonly machines: Pick<Machines, 'rowsOf'>;
  /** Makes every completed write durable. */
  readonly syncStore: () => Promise<void>;
  readonly limits: Pick<CoreLimits, 'trashSliceRows'>;
  /** Neither rows of the group nor its mark are left in the store. */
  readonly cleared: (group: GroupId) => Promise<void>;
}

interface Waiting {
  readonly group: GroupId;
  readonly dueMs: number;
}

export class Trash {
  readonly #ports: TrashPorts;
  /** In the order of their due times, because the delay is constant. */
  readonly #queue = new Fifo<Waiting>();
  /** Number of times each group is marked and not yet deleted: a replica may end, start and end again meanwhile. */
  readonly #marks = new Map<GroupId, number>();
  #isRunning = false;
  #isClosed = false;

  constructor(ports: TrashPorts) {
    this.#ports = ports;
  }

  /** Time at which the next group is due; undefined when there is none, or one is being deleted. */
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

  /** Returns whether rows of the group may be left that must be deleted. */
  has(group: GroupId): boolean {
    return this.#marks.has(group);
  }

  /** Queues a group whose mark is written and whose log has ended. */
  add(group: GroupId, dueMs: number): void {
    this.#queue.push({ group, dueMs });
  }

  /**
   * Queues what an earlier process left, which is not read any more. Returns the groups that are not queued because the
   * log still has records of them: their marks are needed until that log has ended.
   */
  async recover(nowMs: number, isLogged: (group: GroupId) => boolean): Promise<ReadonlySet<GroupId>> {
    const unended = new Set<GroupId>();
    for await (const group of readTrash(this.#ports.kv)) {
      this.#count(group, 1);
      if (isLogged(group)) unended.add(group);
      else this.add(group, nowMs);
    }
    return unended;
  }

  /** Deletes the next group. One call at a time; `isDue` tells whether it is needed. */
  async run(): Promise<void> {
    const { kv, machines, syncStore } = this.#ports;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#isRunning = true;
    const rows = machines.rowsOf(next.group);
    if (await this.#clear(rows)) {
      await kv.cutHistory(next.group, 0);
      await kv.compact(rows.gte, rows.lt);
      // A power failure may lose deletions in any order, so the mark is removed only when all of them are durable.
      await syncStore();
      await this.#unmark(next.group);
    }
    this.#isRunning = false;
  }

  /** Stops after the current slice; the rest is deleted after the next start. */
  close(): void {
    this.#isClosed = true;
  }

  /** Durably, so that a later replica is not taken for the deleted one. */
  async #unmark(group: GroupId): Promise<void> {
    const { kv, cleared } = this.#ports;
    if (this.#marks.get(group) === 1) {
      const batch = kv.batch();
      batch.del(trashKey(group));
      await kv.write(batch);
    }
    this.#count(group, -1);
    if (!this.has(group)) await cleared(group);
  }

  #count(group: GroupId, by: 1 | -1): void {
    const count = (this.#marks.get(group) ?? 0) + by;
    if (count > 0) this.#marks.set(group, count);
    else this.#marks.delete(group);
  }

  /** Returns false when it stopped before the end. */
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
