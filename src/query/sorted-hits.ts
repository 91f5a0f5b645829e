/**
 * Index entries in the order of effective time, from lists that are in the order of position: all of them are walked,
 * the next ones are selected. (Q3)
 */
import type { DatabaseReader, PostingEntry } from '#database';
import type { Direction, EffectiveTimeBounds, Selector } from '#model';
import type { Bounds } from './bounds.ts';
import { settled } from './hits.ts';
import { type Plan, planSelector } from './plan.ts';
import { END_RANK } from './rank.ts';
import { Selection, type TimePlace } from './time-place.ts';
import { isWithin, SELECTED_MAX } from './time-scan.ts';

export interface SortedHitsOptions {
  readonly selector: Selector;
  /** In the order of position; the order of the entries is `direction`. */
  readonly bounds: Bounds;
  readonly times: EffectiveTimeBounds;
  readonly direction: Direction;
  /** The entries go on behind this place. */
  readonly after: TimePlace | undefined;
  /** The plan of the selector in these bounds, if its walk has not begun yet. */
  readonly plan?: Plan | undefined;
}

export class SortedHits {
  readonly #reader: DatabaseReader;
  readonly #options: SortedHitsOptions;
  #after: TimePlace | undefined;
  #plan: Plan | undefined;
  #over = false;

  constructor(reader: DatabaseReader, options: SortedHitsOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#after = options.after;
    this.#plan = options.plan;
  }

  /** The next entries, in order; undefined at the end. */
  async next(): Promise<readonly PostingEntry[] | undefined> {
    if (this.#over) return undefined;
    const { selector, bounds, times, direction } = this.#options;
    const selection = new Selection(direction, SELECTED_MAX, this.#after);
    const plan = this.#plan ?? (await planSelector(this.#reader, selector, bounds));
    this.#plan = undefined;
    if (plan.kind === 'hits') {
      const { hits } = plan;
      for (let rank = await settled(hits); rank !== END_RANK; rank = hits.ready ? hits.rank : await settled(hits)) {
        const entry = hits.entry();
        if (isWithin(entry, times)) selection.offer(entry);
        hits.seek(rank + 1);
      }
      await hits.release();
    }
    const entries = selection.take();
    this.#after = entries.at(-1) ?? this.#after;
    this.#over = !selection.overflowed;
    return entries;
  }
}
