/**
 * A set of messages that this node repeats to another at each interval: heartbeats of idle groups, or the replies to
 * them. It is passed on as one object and encoded as the difference from the last one, so its cost does not grow with
 * the number of idle groups.
 */
import type { GroupId } from '#base';
import type { BeatAck, Message } from '#raft';
import type { Envelope } from './links.ts';

export type Beat = Extract<Message, { readonly kind: 'beat' }>;
export type Repeated = Beat | BeatAck;

/** Maximum rows of one table. Heartbeats of more groups are sent one by one, which is correct, only larger. */
export const TABLE_ROWS_MAX: number = 2 ** 14;

export class SentTable<M extends Repeated = Repeated> {
  readonly #rows = new Map<GroupId, Envelope<M>>();
  #changed = new Set<GroupId>();

  /** One row for each group. */
  get rows(): ReadonlyMap<GroupId, Envelope<M>> {
    return this.#rows;
  }

  /** Tells whether a table has no room for more. */
  get isFull(): boolean {
    return this.#rows.size >= TABLE_ROWS_MAX;
  }

  /** Adds or replaces the row of a group, from the next interval on. */
  set(envelope: Envelope<M>): void {
    this.#rows.set(envelope.group, envelope);
    this.#changed.add(envelope.group);
  }

  /** Removes the row of a group. */
  delete(group: GroupId): void {
    if (this.#rows.delete(group)) this.#changed.add(group);
  }

  /** Returns the groups whose rows were added, removed or changed since the last call. */
  takeChanged(): ReadonlySet<GroupId> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }
}

/** Tables to send in this turn, because they are due. */
export interface SentTables {
  readonly beats?: SentTable<Beat>;
  readonly answers?: SentTable<BeatAck>;
}
