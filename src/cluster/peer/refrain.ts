/**
 * A set of messages that this node repeats to another at each interval: heartbeats of idle groups, or the replies to
 * them. It is passed on as one object and encoded as the difference from the last one, so its cost does not grow with
 * the number of idle groups.
 */
import type { GroupId } from '#base';
import type { BeatAck, Message } from '#raft';
import type { Envelope } from './envelope.ts';

export type Beat = Extract<Message, { readonly kind: 'beat' }>;
export type Repeated = Beat | BeatAck;

/** Rows of one table. Beats of more groups than these travel one by one, which is correct, and only larger. */
export const TABLE_ROWS_MAX: number = 2 ** 14;

export class Refrain<M extends Repeated = Repeated> {
  readonly #rows = new Map<GroupId, Envelope<M>>();
  #changed = new Set<GroupId>();

  /** One row for each group. */
  get rows(): ReadonlyMap<GroupId, Envelope<M>> {
    return this.#rows;
  }

  /** Whether a table has no place for more. */
  get isFull(): boolean {
    return this.#rows.size >= TABLE_ROWS_MAX;
  }

  /** Said from the next regular time on. */
  say(envelope: Envelope<M>): void {
    this.#rows.set(envelope.group, envelope);
    this.#changed.add(envelope.group);
  }

  /** Not said any more. */
  unsay(group: GroupId): void {
    if (this.#rows.delete(group)) this.#changed.add(group);
  }

  /** The groups whose rows came, went or changed since this was asked last. */
  takeChanged(): ReadonlySet<GroupId> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }
}

/** What is said once more in this turn, because it is the time for it. */
export interface Refrains {
  readonly beats?: Refrain<Beat>;
  readonly answers?: Refrain<BeatAck>;
}
