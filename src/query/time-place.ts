/** The order by effective time: by instant, ties by position, in either direction. */
import type { PostingEntry } from '#database';
import type { Direction } from '#model';

/** A place in the order of effective time. */
export type TimePlace = Pick<PostingEntry, 'seconds' | 'nanos' | 'revision' | 'index'>;

/** Negative when `left` comes before `right` in the direction. */
export function compareTimePlaces(left: TimePlace, right: TimePlace, direction: Direction): number {
  const order =
    left.seconds - right.seconds ||
    left.nanos - right.nanos ||
    left.revision - right.revision ||
    left.index - right.index;
  return direction === 'forward' ? order : -order;
}

/**
 * Selects the next `max` entries in the order of effective time out of any number, in memory for twice as many. The
 * next selection continues after the last one taken. (Q3)
 */
export class Selection {
  readonly #direction: Direction;
  readonly #max: number;
  readonly #after: TimePlace | undefined;
  #entries: PostingEntry[] = [];
  /** The last place that can still be in the result, once an entry was dropped. */
  #last: TimePlace | undefined;

  constructor(direction: Direction, max: number, after: TimePlace | undefined) {
    this.#direction = direction;
    this.#max = max;
    this.#after = after;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** True when there were more entries than fit. */
  get overflowed(): boolean {
    return this.#last !== undefined;
  }

  offer(entry: PostingEntry): void {
    if (this.#after !== undefined && compareTimePlaces(entry, this.#after, this.#direction) <= 0) return;
    if (this.#last !== undefined && compareTimePlaces(entry, this.#last, this.#direction) > 0) return;
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * this.#max) this.#cut();
  }

  /** Returns the entries in order. */
  take(): readonly PostingEntry[] {
    if (this.#entries.length > this.#max) this.#cut();
    else this.#sort();
    return this.#entries;
  }

  #cut(): void {
    this.#sort();
    this.#entries.length = this.#max;
    this.#last = this.#entries[this.#max - 1];
  }

  #sort(): void {
    this.#entries.sort((left, right) => compareTimePlaces(left, right, this.#direction));
  }
}
