/**
 * Following a database: what a selector selects, from a position on, as far as the database has come, and then again.
 *
 * The reader pulls. Nothing is kept for it but the place where it is, so a slow reader costs nobody anything, and one
 * that goes away and comes back with its position goes on where it was. Waiting for the next revision is the business
 * of whoever owns the tail. A step that finds nothing new costs one read for each list of the selector. (Q7)
 */
import type { DatabaseSource, StoredEvent } from '#database';
import { type Position, type Selector, TRANSACTION_EVENTS_MAX } from '#model';
import { type Cancellation, queryEvents } from './query-events.ts';
import type { SlicePace } from './slice-pace.ts';

export interface TailOptions {
  readonly selector: Selector;
  /** Where to go on behind; absent: before the first event. */
  readonly after?: Position | undefined;
  /** When the next slice may be read, and how large it may be. Default: when it is pulled, 256 KiB. */
  readonly pace?: SlicePace | undefined;
  /** True: a slice may be looked at until the next one is asked for; then its memory is given back. Default false. */
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

  /**
   * Whatever is selected up to and including this place was delivered: a tail that goes on behind it misses nothing.
   */
  get position(): Position {
    return this.#position;
  }

  /**
   * What is selected behind the position, up to and including revision `at`, which is applied. A slice that is not
   * asked for is not read; the position moves with each one that is. One call at a time.
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

/** Behind every event that the revision can have. */
function endOf(revision: number): Position {
  return { revision, index: TRANSACTION_EVENTS_MAX - 1 };
}
