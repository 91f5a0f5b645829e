/**
 * The order by effective time: by instant, ties by position, in either direction.
 */
import type { PostingEntry } from '#database';
import type { Direction } from '#model';

/** Where an event stands in the order of effective time. */
export type TimePlace = Pick<PostingEntry, 'seconds' | 'nanos' | 'revision' | 'index'>;

/** Negative when a walk in the direction comes to `left` before `right`. */
export function compareTimePlaces(left: TimePlace, right: TimePlace, direction: Direction): number {
  const order =
    left.seconds - right.seconds ||
    left.nanos - right.nanos ||
    left.revision - right.revision ||
    left.index - right.index;
  return direction === 'forward' ? order : -order;
}

/**
 * The entries that come next in the order of effective time, out of any number that are offered, in memory for `max`
 * of them twice over. What does not fit is left for the next selection, which goes on behind the last one taken. (Q3)
 */
export class Selection {
  readonly #direction: Direction;
  readonly #max: number;
  readonly #after: TimePlace | undefined;
  #entries: PostingEntry[] = [];
  /** Once something was left out: the last place that is still of interest. */
  #last: TimePlace | undefined;

  constructor(direction: Direction, max: number, after: TimePlace | undefined) {
    this.#direction = direction;
    this.#max = max;
    this.#after = after;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** Whether there were more than fit. */
  get overflowed(): boolean {
    return this.#last !== undefined;
  }

  offer(entry: PostingEntry): void {
    if (this.#after !== undefined && compareTimePlaces(entry, this.#after, this.#direction) <= 0) return;
    if (this.#last !== undefined && compareTimePlaces(entry, this.#last, this.#direction) > 0) return;
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * this.#max) this.#cut();
  }

  /** In order. */
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
