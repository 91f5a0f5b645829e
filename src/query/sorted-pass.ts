/**
 * Index entries in the order of effective time, from a walk that gives them in another: all of them are walked, and
 * those that come next are selected, as many as memory has room for. (Q3)
 *
 * A pass goes in steps, between which nothing of the store is held (Q5, Q8). One that found more than there was room
 * for is followed by another, behind its last entry.
 */
import type { PostingEntry } from '#database';
import type { Direction, EffectiveTimeBounds } from '#model';
import { Selection, type TimePlace } from './time-place.ts';
import { isWithin, SELECTED_MAX } from './time-scan.ts';

/** Whatever finds entries, step by step, in any order. */
export interface EntryWalk {
  /** Offers some entries. False at the end. */
  step(offer: (entry: PostingEntry) => void): Promise<boolean>;
  release(): Promise<void>;
}

export interface SortedPassOptions {
  readonly times: EffectiveTimeBounds;
  readonly direction: Direction;
  /** The entries go on behind this place. */
  readonly after: TimePlace | undefined;
  /** Entries that are selected at most; default SELECTED_MAX. */
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

  /** The entries, in order, once all have been walked; until then undefined, each time a step further. */
  async next(): Promise<readonly PostingEntry[] | undefined> {
    const goesOn = await this.#walk.step((entry) => {
      if (isWithin(entry, this.#times)) this.#selection.offer(entry);
    });
    await this.#walk.release();
    this.#over = !goesOn;
    return goesOn ? undefined : this.#selection.take();
  }

  /** Whether it has given its entries. */
  get over(): boolean {
    return this.#over;
  }

  /** Once it has given its entries: whether there are more behind them. */
  get overflowed(): boolean {
    return this.#selection.overflowed;
  }
}
