/**
 * Follows a database: the selected events after a position, up to the latest revision, repeatedly.
 *
 * The reader pulls. Only its position is kept, so a slow reader costs nothing, and a reader that returns with its
 * position continues there. The owner of the tail waits for the next revision. A step without new events costs one read
 * for each list of the selector. (Q7)
 */
import type { DatabaseSource, StoredEvent } from '#database';
import { type Position, type Selector, TRANSACTION_EVENTS_MAX } from '#model';
import type { SlicePace } from './event-chunks.ts';
import { type Cancellation, queryEvents } from './query-events.ts';

export interface TailOptions {
  readonly selector: Selector;
  /** The position to continue after; absent: before the first event. */
  readonly after?: Position | undefined;
  /** Time and size of the next slice. Default: when it is pulled, 256 KiB. */
  readonly pace?: SlicePace | undefined;
  /** True: a slice is valid until the next one is pulled. Default false: as long as referenced. */
  readonly lent?: boolean | undefined;
}

export class EventTail {
  readonly #source: DatabaseSource;
  readonly #options: TailOptions;
  #position: Position;

  constructor(source: DatabaseSource, options: TailOptions) {
    this.#source = source;
    this.#options = options;
    this.#position = options.after ?? endOf(0);
  }

  /** All selected events up to and including this position were delivered; a tail may continue after it. */
  get position(): Position {
    return this.#position;
  }

  /**
   * The selected events after the position, up to and including revision `at`, which is applied. Slices are read on
   * demand, and each one moves the position. One call at a time.
   */
  async *advance(at: number, signal?: Cancellation): AsyncGenerator<readonly StoredEvent[]> {
    const after = this.#position;
    if (at < after.revision || (at === after.revision && after.index >= endOf(at).index)) return;
    const { selector, pace, lent } = this.#options;
    const query = { selector, revisions: {}, direction: 'forward', after } as const;
    for await (const events of queryEvents(this.#source, { at, query, signal, pace, lent })) {
      this.#position = events.at(-1)?.position ?? this.#position;
      yield events;
    }
    if (signal?.aborted !== true) this.#position = endOf(at);
  }
}

/** The last position that the revision can have. */
function endOf(revision: number): Position {
  return { revision, index: TRANSACTION_EVENTS_MAX - 1 };
}
