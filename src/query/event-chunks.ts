/**
 * Events in slices, each read at once and then released.
 *
 * A slice is bounded in bytes, events and work. The reader sets the pace by pulling slices, and yields to the event
 * loop between two of them to keep the node responsive. Between two slices no range of the store stays open, however
 * long the reader waits. (Q5, Q8)
 */
import type { StoredEvent } from '#database';
import type { EventVisitor } from './passing-event.ts';
import type { SlicePace } from './slice-pace.ts';

export interface EventChunks {
  /** True when no event follows the last result of `next`. */
  readonly isOver?: boolean;
  /**
   * The next events; empty when the walk only got closer to the next one; undefined at the end. `left` is the maximum
   * number of further events: the reader does not call again after it has them.
   */
  next(left: number): Promise<readonly StoredEvent[] | undefined>;
  /** Passes the events, forward, to the visitor in place; returns their number. Absent where that saves nothing. */
  visit?(left: number, visitor: EventVisitor): Promise<number | undefined>;
}

/** Maximum events of a slice that are found one by one, each of which may keep its own page in memory. */
const SLICE_EVENTS = 256;
/** Maximum candidates that are tested for one slice. */
const SLICE_TESTS = 1024;

/** A slice that is being filled. */
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

  /** Counts a candidate that is not selected. */
  pass(): void {
    this.#tests++;
  }

  /** Returns false when the slice is full; the event then begins the next slice. */
  add(event: StoredEvent): boolean {
    const bytes = this.#bytes + event.bytes.length;
    if (bytes > 2 * this.#pace.bytes && (this.events.length > 0 || !this.#pace.admits(bytes))) return false;
    this.events.push(event);
    this.#bytes = bytes;
    this.#tests++;
    return true;
  }
}
