/**
 * Events in slices, each gathered in one go and then let go of.
 *
 * A slice is bounded by its bytes, its count and the work behind it, so that a reader who takes one slice at a time
 * decides the pace, and whoever awaits a turn of the event loop between two slices keeps the node responsive. Between
 * two slices nothing of the store is held: no range stays open, however long the reader thinks. (Q5, Q8)
 */
import type { StoredEvent } from '#database';
import type { EventVisitor } from './passing-event.ts';
import type { SlicePace } from './slice-pace.ts';

export interface EventChunks {
  /** Whether it is known already that nothing follows what `next` gave last. */
  readonly isOver?: boolean;
  /**
   * The next events; none of them when the walk only got closer to the next one; undefined at the end. `left` is how
   * many the reader will take in all: once it has them it does not come back.
   */
  next(left: number): Promise<readonly StoredEvent[] | undefined>;
  /** The same, forward, shown one by one where they lie; answers how many. Absent where that saves nothing. */
  visit?(left: number, visitor: EventVisitor): Promise<number | undefined>;
}

/** Events of a slice that are found one by one, each of which may keep a page of its own in memory. */
const SLICE_EVENTS = 256;
/** Candidates that are tested for one slice. */
const SLICE_TESTS = 1024;

/** A slice in the making. */
export class Slice {
  readonly events: StoredEvent[] = [];
  readonly #countMax: number;
  readonly #pace: SlicePace;
  #bytes = 0;
  #tests = 0;

  constructor(countMax: number, pace: SlicePace) {
    this.#countMax = Math.min(countMax, SLICE_EVENTS);
    this.#pace = pace;
  }

  get full(): boolean {
    return this.events.length >= this.#countMax || this.#bytes >= this.#pace.bytes || this.#tests >= SLICE_TESTS;
  }

  /** A candidate was looked at, which was not selected. */
  pass(): void {
    this.#tests++;
  }

  /** False: the slice ends before this one, with which the next slice begins. */
  add(event: StoredEvent): boolean {
    const bytes = this.#bytes + event.bytes.length;
    if (bytes > 2 * this.#pace.bytes && (this.events.length > 0 || !this.#pace.admits(bytes))) return false;
    this.events.push(event);
    this.#bytes = bytes;
    this.#tests++;
    return true;
  }
}
