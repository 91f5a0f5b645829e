/**
 * The events of the history itself in a direction, slice by slice. (Q6)
 *
 * When many tested events in a row are not selected, the walk finds the next match from the heads and skips to it: it
 * reads the transactions between selected events only while that is cheaper. (Q4)
 */
import { type DatabaseReader, rankOf, type StoredEvent, type StoredTransaction } from '#database';
import type { Selector } from '#model';
import type { Bounds } from './bounds.ts';
import type { EventChunks, SlicePace } from './event-chunks.ts';
import { type PassingTest, passingTestOf } from './event-predicates.ts';
import { HistoryScan } from './history-scan.ts';
import { nextMatch } from './next-match.ts';
import { type EventVisitor, PassingEvent } from './passing-event.ts';

export interface HistoryEventsOptions {
  readonly selector: Selector;
  readonly bounds: Bounds;
  readonly pace: SlicePace;
  /** Tested events without a match before the heads are read. Default MISSES_MIN. */
  readonly missesMin?: number;
  /** Maximum number of heads to read the first time. Default HEADS_MIN. */
  readonly headsMin?: number;
}

const MISSES_MIN = 16_384;
/** Tests of an event that cost as much as reading a head. */
const TESTS_PER_HEAD = 4;
/** Maximum number of heads to read at once; later it grows with the cost of the tests without a match. */
const HEADS_MIN = 4096;

export class HistoryEvents implements EventChunks {
  readonly #reader: DatabaseReader;
  readonly #options: HistoryEventsOptions;
  readonly #scan: HistoryScan;
  readonly #test: PassingTest | undefined;
  readonly #event: PassingEvent = new PassingEvent();
  #misses = 0;
  /** Number of tests without a match after which the heads are read. */
  #missesMax: number;

  constructor(reader: DatabaseReader, options: HistoryEventsOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#scan = new HistoryScan(reader, { ...options.bounds, pace: options.pace });
    this.#test = passingTestOf(options.selector);
    this.#missesMax = options.missesMin ?? MISSES_MIN;
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    const events: StoredEvent[] = [];
    const count = await this.visit(left, (event) => events.push(event.toStored()));
    return count === undefined ? undefined : events;
  }

  async visit(left: number, visitor: EventVisitor): Promise<number | undefined> {
    if (this.#misses >= this.#missesMax && !(await this.#leap())) return undefined;
    // Each transaction has an event, so that `left` of them are enough where all events are selected.
    const transactions = await this.#scan.next(this.#test === undefined ? left : undefined);
    if (transactions === undefined) return undefined;
    let count = 0;
    for (const transaction of transactions) count += this.#visitEach(transaction, left - count, visitor);
    return count;
  }

  #visitEach(transaction: StoredTransaction, left: number, visitor: EventVisitor): number {
    const { direction, ranks } = this.#options.bounds;
    const { revision, eventCount } = transaction;
    const [event, test] = [this.#event, this.#test];
    let selected = 0;
    for (let n = 0; n < eventCount && selected < left; n++) {
      const index = direction === 'forward' ? n : eventCount - 1 - n;
      if (rankOf(revision, index, direction) < ranks.first) continue;
      event.inTransaction(transaction, index);
      if (test !== undefined && !test(event)) continue;
      visitor(event);
      selected++;
    }
    this.#misses = selected > 0 ? 0 : this.#misses + eventCount;
    return selected;
  }

  /** Skips to the next possible match. Returns false when there is none. */
  async #leap(): Promise<boolean> {
    const { selector, bounds, missesMin = MISSES_MIN, headsMin = HEADS_MIN } = this.#options;
    const { first, last } = this.#scan.rest;
    if (first > last) return false;
    const headsMax = Math.max(headsMin, this.#missesMax / TESTS_PER_HEAD);
    const rest = { ...bounds, first, last };
    const { revision, headCount } = await nextMatch(this.#reader, { selector, bounds: rest, headsMax });
    this.#misses = 0;
    this.#missesMax = Math.max(missesMin, 2 * headCount * TESTS_PER_HEAD);
    if (revision !== undefined) this.#scan.skipTo(revision);
    return revision !== undefined;
  }
}
