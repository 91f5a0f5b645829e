/**
 * Receives the tables of repeated heartbeats (or answers) that another node sends: one row per group. A group at rest
 * does not process its row as long as it is unchanged, so an unchanged table costs a count and a time, however many
 * groups there are (C31).
 */
import type { GroupId } from '#base';
import type { Envelope } from '../peer/links.ts';

/** A repeated event: its count, and its last time. */
export interface Recurrence {
  readonly count: number;
  readonly lastMs: number;
}

/** A group that rests upon a row. */
export interface Sleeper {
  readonly id: GroupId;
}

/** A table of another node, as a difference to the previous one (`TakenTable`). */
export interface RowsOfTable {
  readonly rows: ReadonlyMap<GroupId, Envelope>;
  readonly isWhole: boolean;
  readonly changed: readonly Envelope[];
  readonly gone: readonly GroupId[];
}

/** Rows that must be delivered to their groups. */
export interface RowsToGive {
  readonly changed: readonly Envelope[];
  /** Rows that are the same as in the previous table: a group may rest upon one. */
  readonly unchanged: readonly Envelope[];
}

export class ReceivedTable<Group extends Sleeper> implements Recurrence {
  /** Rows without a resting group. */
  readonly #awake = new Set<GroupId>();
  readonly #resting = new Map<GroupId, Group>();
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** Number of received tables. */
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
   * Processes the next table; all rows of the first one are new, whatever it is a difference to. `wake` is called for
   * each group whose row has changed or is gone, before the table counts; it must end the rest of the group. Groups
   * that still rest have received the table.
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

  /** The group rests upon its row from now on, until it leaves. */
  rest(group: Group): void {
    this.#awake.delete(group.id);
    this.#resting.set(group.id, group);
  }

  /** The row is delivered to the group, or to its successor, again. */
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
