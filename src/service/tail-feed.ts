/**
 * The newest events of one database, read once for all of its subscribers.
 *
 * ```
 *   older revisions │ first ......... last │ not read yet
 *   (in the store)  │ cached here, complete│ (until requested)
 * ```
 *
 * A hundred subscribers that each read the store after every batch would cost a hundred reads. Instead the first one
 * reads for all. The cache is limited in bytes; a subscriber that lags more reads the store itself (V7).
 */
import type { GroupId } from '#base';
import { type EventFacts, eventFacts, type Matcher, type Position, TRANSACTION_EVENTS_MAX } from '#model';
import { type DatabaseSource, type Slice, type StoredEvent, scanLogEvents } from '#query';

export interface TailFeedLimits {
  /** Size of the cache in bytes. */
  readonly tailBytesMax: number;
  /** Maximum number of revisions read to catch up; a feed that lags more starts again at the end. */
  readonly tailGapMax: number;
}

/** Events that a subscriber gets at once, and its position afterwards. */
export interface TailStep {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
}

interface Kept {
  readonly event: StoredEvent;
  readonly facts: EventFacts;
}

/** The position after every event of the revision. */
export function endOf(revision: number): Position {
  return { revision, index: TRANSACTION_EVENTS_MAX - 1 };
}

export class TailFeed {
  readonly #source: DatabaseSource;
  readonly #limits: TailFeedLimits;
  #kept: Kept[] = [];
  #keptBytes = 0;
  /** All events of the revisions `first` to `last` are cached; none when `first` is above `last`. */
  #first: number;
  #last: number;
  /** Value of `last` when all pending reads are complete. */
  #asked: number;
  #reading: Promise<void> = Promise.resolve();

  /** Starts after the applied revision. */
  constructor(source: DatabaseSource, applied: number, limits: TailFeedLimits) {
    this.#source = source;
    this.#limits = limits;
    this.#first = applied + 1;
    this.#last = applied;
    this.#asked = applied;
  }

  /** Returns whether everything after the position that was read is cached. */
  covers({ revision, index }: Position): boolean {
    return revision >= this.#first || (revision === this.#first - 1 && index >= endOf(revision).index);
  }

  /** Reads up to the applied revision, once for all callers. */
  advance(applied: number): Promise<void> {
    if (applied <= this.#asked) return this.#reading;
    const from = this.#asked + 1;
    this.#asked = applied;
    this.#reading = this.#reading.then(() => this.#read(from, applied));
    return this.#reading;
  }

  /** Returns the matching cached events after a covered position, as far as they fit into the slice. */
  take(position: Position, matches: Matcher, slice: Slice): TailStep {
    const { events } = slice;
    for (let place = this.#placeBehind(position); place < this.#kept.length; place++) {
      const kept = this.#kept[place];
      if (kept === undefined || !matches(kept.event.bytes, kept.facts)) continue;
      if (slice.full || !slice.add(kept.event)) return { events, position: events.at(-1)?.position ?? position };
    }
    return { events, position: position.revision > this.#last ? position : endOf(this.#last) };
  }

  async #read(from: number, to: number): Promise<void> {
    if (to - from >= this.#limits.tailGapMax) {
      this.#drop(this.#kept.length, to + 1);
    } else {
      const scan = { at: to, start: from, direction: 'forward' } as const;
      for await (const events of scanLogEvents(this.#source, scan)) for (const event of events) this.#keep(event);
    }
    this.#last = to;
  }

  #keep(event: StoredEvent): void {
    this.#kept.push({ event, facts: eventFacts(event.bytes, 0, event.bytes.length) });
    this.#keptBytes += event.bytes.length;
    if (this.#keptBytes > this.#limits.tailBytesMax) this.#dropOldest();
  }

  /** Evicts the older half, in whole revisions. */
  #dropOldest(): void {
    const middle = this.#kept[this.#kept.length >> 1];
    const first = (middle?.event.position.revision ?? this.#last) + 1;
    this.#drop(this.#placeBehind(endOf(first - 1)), first);
  }

  #drop(count: number, first: number): void {
    for (const { event } of this.#kept.slice(0, count)) this.#keptBytes -= event.bytes.length;
    this.#kept = this.#kept.slice(count);
    this.#first = first;
  }

  /** Index of the first cached event after the position. */
  #placeBehind(position: Position): number {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(this.#kept[middle]?.event.position, position)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function isBehind(place: Position | undefined, position: Position): boolean {
  if (place === undefined || place.revision > position.revision) return true;
  return place.revision === position.revision && place.index > position.index;
}

export interface FollowedFeed extends Disposable {
  readonly feed: TailFeed;
}

/** The feeds of databases with subscribers: created for the first subscriber, removed with the last. */
export class TailFeeds {
  readonly #limits: TailFeedLimits;
  readonly #feeds = new Map<GroupId, { readonly feed: TailFeed; followers: number }>();

  constructor(limits: TailFeedLimits) {
    this.#limits = limits;
  }

  /** Number of databases with subscribers. */
  get count(): number {
    return this.#feeds.size;
  }

  follow(source: DatabaseSource, applied: number): FollowedFeed {
    const { group } = source;
    const entry = this.#feeds.get(group) ?? { feed: new TailFeed(source, applied, this.#limits), followers: 0 };
    entry.followers++;
    this.#feeds.set(group, entry);
    return { feed: entry.feed, [Symbol.dispose]: () => this.#leave(group, entry) };
  }

  #leave(group: GroupId, entry: { followers: number }): void {
    entry.followers--;
    if (entry.followers === 0) this.#feeds.delete(group);
  }
}
