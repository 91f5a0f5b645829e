/**
 * Index entries in the order of effective time, from a walk in another order: it walks all of them and selects the next
 * ones, as many as memory allows. (Q3)
 *
 * A pass has steps, between which no resource of the store is held (Q5, Q8). When it found more entries than it could
 * keep, another pass continues after its last entry.
 */
import type { PostingEntry } from '#database';
import type { Direction, EffectiveTimeBounds } from '#model';
import { Selection, type TimePlace } from './time-place.ts';
import { isWithin, SELECTED_MAX } from './time-scan.ts';

/** Finds entries, step by step, in any order. */
export interface EntryWalk {
  /** Offers some entries. Returns false at the end. */
  step(offer: (entry: PostingEntry) => void): Promise<boolean>;
  release(): Promise<void>;
}

export interface SortedPassOptions {
  readonly times: EffectiveTimeBounds;
  readonly direction: Direction;
  /** The entries continue after this one. */
  readonly after: TimePlace | undefined;
  /** Maximum number of selected entries; default SELECTED_MAX. */
  readonly selectedMax?: number | undefined;
}

export class SortedPass {
  readonly #walk: EntryWalk;
  readonly #times: EffectiveTimeBounds;
  readonly #selection: Selection;
  #over = false;

  constructor(walk: EntryWalk, { times, direction, after, selectedMax = SELECTED_MAX }: SortedPassOptions) {
    this.#walk = walk;
    this.#times = times;
    this.#selection = new Selection(direction, selectedMax, after);
  }

  /** The entries, in order, once all have been walked; undefined after each earlier step. */
  async next(): Promise<readonly PostingEntry[] | undefined> {
    const goesOn = await this.#walk.step((entry) => {
      if (isWithin(entry, this.#times)) this.#selection.offer(entry);
    });
    await this.#walk.release();
    this.#over = !goesOn;
    return goesOn ? undefined : this.#selection.take();
  }

  /** True once it has returned its entries. */
  get over(): boolean {
    return this.#over;
  }

  /** True when there are more entries than it has returned. */
  get overflowed(): boolean {
    return this.#selection.overflowed;
  }
}
