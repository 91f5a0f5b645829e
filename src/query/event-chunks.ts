/**
 * Events in slices, each read at once and then released.
 *
 * A slice is bounded in bytes, events and work. The reader sets the pace by pulling slices, and yields to the event
 * loop between two of them to keep the node responsive. Between two slices no range of the store stays open, however
 * long the reader waits. (Q5, Q8)
 */
import type { DatabaseReader, PostingEntry, StoredEvent } from '#database';
import type { EventTest } from './event-predicates.ts';
import type { EventVisitor } from './passing-event.ts';

/** Flow control of a stream of slices: the reader sets when the next slice is read, and its size. (Q5, Q8) */
export interface SlicePace {
  /** Target size of the next slice: it ends when it reaches the size, and has at most twice as many bytes. */
  readonly bytes: number;
  /** Undefined, or a promise until the next slice may be read. It rejects when the reader has gone. */
  ready(): Promise<void> | undefined;
  /**
   * Returns true when a slice may exceed twice `bytes`, because one event or one transaction is that large. False: the
   * slice is released, and `ready` waits for room for it.
   */
  admits(bytes: number): boolean;
  /** Called when no slice is being read, until the next `ready`. */
  rest(): void;
}

/** Default size of a slice. */
const SLICE_BYTES = 256 * 1024;

/** The pace of a reader that pulls: each slice is read on demand, with any contents. */
export function pulled(bytes: number = SLICE_BYTES): SlicePace {
  return { bytes, ready: () => undefined, admits: () => true, rest: () => undefined };
}

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

/** Maximum events of a slice that are found one by one. */
const SLICE_EVENTS = 256;
/** Maximum candidates that are tested for one slice, and bytes of those that are not selected. */
const SLICE_TESTS = 1024;
const SLICE_BYTES_UNSELECTED = 2 ** 22;
/** Minimum number of candidates to read at once: most may not be selected. */
const CANDIDATES_MIN = 16;
/** Expected size of an event, until some were read. */
const EVENT_BYTES = 1024;

/** A slice that is being filled. */
export class Slice {
  readonly events: StoredEvent[] = [];
  readonly #countMax: number;
  readonly #pace: SlicePace;
  #bytes = 0;
  #tests = 0;
  #unselectedBytes = 0;
  #isClosed = false;

  constructor(countMax: number, pace: SlicePace) {
    this.#countMax = Math.min(countMax, SLICE_EVENTS);
    this.#pace = pace;
  }

  get full(): boolean {
    if (this.#isClosed || this.#tests >= SLICE_TESTS || this.#unselectedBytes >= SLICE_BYTES_UNSELECTED) return true;
    return this.countLeft <= 0 || this.bytesLeft <= 0;
  }

  get countLeft(): number {
    return this.#countMax - this.events.length;
  }

  get bytesLeft(): number {
    return this.#pace.bytes - this.#bytes;
  }

  /** Counts a candidate that is not selected. */
  pass({ bytes }: StoredEvent): void {
    this.#tests++;
    this.#unselectedBytes += bytes.length;
  }

  /** Returns false when the slice is full; the event then begins the next slice. */
  add(event: StoredEvent): boolean {
    const bytes = this.#bytes + event.bytes.length;
    this.#isClosed = bytes > 2 * this.#pace.bytes && (this.events.length > 0 || !this.#pace.admits(bytes));
    if (this.#isClosed) return false;
    this.events.push(event);
    this.#bytes = bytes;
    this.#tests++;
    return true;
  }
}

/** Reads the events of index entries into slices, many at once. */
export class Candidates {
  readonly #reader: DatabaseReader;
  /** Mean size of those that were read last. */
  #eventBytes = EVENT_BYTES;

  constructor(reader: DatabaseReader) {
    this.#reader = reader;
  }

  /** Number of entries whose events will probably fit into the slice; `test` is absent when all are selected. */
  roomIn(slice: Slice, test: EventTest | undefined): number {
    const count = test === undefined ? slice.countLeft : Math.max(slice.countLeft, CANDIDATES_MIN);
    return Math.min(count, Math.ceil(slice.bytesLeft / this.#eventBytes));
  }

  /** Adds the events of the first entries to a slice that is not full. Returns how many entries it is done with. */
  async readInto(slice: Slice, entries: readonly PostingEntry[], test: EventTest | undefined): Promise<number> {
    const events = await this.#reader.eventsOf(entries.slice(0, this.roomIn(slice, test)), slice.bytesLeft);
    this.#eventBytes = events.reduce((sum, { bytes }) => sum + bytes.length, 0) / events.length;
    let done = 0;
    for (const event of events) {
      if (slice.full) break;
      if (test !== undefined && !test(event)) slice.pass(event);
      else if (!slice.add(event)) break;
      done++;
    }
    return done;
  }
}
