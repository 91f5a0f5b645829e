/**
 * What another node says again and again, row by row, and which groups of this node rest upon their rows: to them a
 * table that says the same as the one before is heard by a count and a time, however many they are (C31).
 */
import type { GroupId } from '#base';
import type { Envelope } from '../peer/envelope.ts';

/** Something that happens again and again: how often so far, and when last. */
export interface Recurrence {
  readonly count: number;
  readonly lastMs: number;
}

/** A group that rests upon a row. */
export interface Sleeper {
  readonly id: GroupId;
}

/** A table of another node, against the one before it (`TakenTable`). */
export interface RowsOfTable {
  readonly rows: ReadonlyMap<GroupId, Envelope>;
  readonly isWhole: boolean;
  readonly changed: readonly Envelope[];
  readonly gone: readonly GroupId[];
}

/** Rows that their groups have to be given. */
export interface RowsToGive {
  readonly changed: readonly Envelope[];
  /** They are as they were in the table before: a group may rest upon one. */
  readonly unchanged: readonly Envelope[];
}

export class HeardRows<Group extends Sleeper> implements Recurrence {
  /** Rows upon which no group rests. */
  readonly #awake = new Set<GroupId>();
  readonly #resting = new Map<GroupId, Group>();
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** Tables that were heard. */
  get count(): number {
    return this.#count;
  }

  get lastMs(): number {
    return this.#lastMs;
  }

  get restingCount(): number {
    return this.#resting.size;
  }

  get resting(): readonly Group[] {
    return [...this.#resting.values()];
  }

  /**
   * Hears the next table; of the first one all rows are new, whatever it is a difference to. `wake` is called for each
   * group whose row has changed or is gone, before the table counts; it has the group leave. Whoever still rests then
   * has heard it.
   */
  hear(table: RowsOfTable, nowMs: number, wake: (group: Group) => void): RowsToGive {
    const { rows, isWhole, changed, gone } = this.#count === 0 ? asFirst(table) : table;
    if (isWhole) {
      for (const group of this.resting) wake(group);
      this.#awake.clear();
    } else {
      for (const id of gone) {
        this.#wake(id, wake);
        this.#awake.delete(id);
      }
      for (const { group: id } of changed) this.#wake(id, wake);
    }
    const unchanged: Envelope[] = [];
    const isNew = new Set(changed.map(({ group }) => group));
    for (const id of this.#awake) {
      const row = rows.get(id);
      if (row !== undefined && !isNew.has(id)) unchanged.push(row);
    }
    for (const id of isNew) this.#awake.add(id);
    this.#count += 1;
    this.#lastMs = nowMs;
    return { changed, unchanged };
  }

  /** The group rests upon its row from here on, until it leaves. */
  rest(group: Group): void {
    this.#awake.delete(group.id);
    this.#resting.set(group.id, group);
  }

  /** The group, or the one that has its place, is given its row again. */
  leave(id: GroupId): void {
    if (this.#resting.delete(id)) this.#awake.add(id);
  }

  #wake(id: GroupId, wake: (group: Group) => void): void {
    const group = this.#resting.get(id);
    if (group !== undefined) wake(group);
  }
}

function asFirst({ rows }: RowsOfTable): RowsOfTable {
  return { rows, isWhole: true, changed: [...rows.values()], gone: [] };
}
