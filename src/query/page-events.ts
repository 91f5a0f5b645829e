/**
 * The events of the log itself, page by page in a direction, each page read once. (Q6)
 *
 * When many tested events in a row are not selected, the walk finds the next match from the heads and skips to it: it
 * reads the pages between selected events only while that is cheaper. (Q4)
 */
import { type DatabaseReader, eventsOf, type Page, type StoredEvent } from '#database';
import type { Selector } from '#model';
import type { Bounds } from './bounds.ts';
import type { EventChunks } from './event-chunks.ts';
import { type EventTest, type PassingTest, passingTestOf, testOf } from './event-test.ts';
import { nextMatch } from './next-match.ts';
import { PageScan } from './page-scan.ts';
import { type EventVisitor, PassingEvent } from './passing-event.ts';
import { rankOf } from './rank.ts';
import type { SlicePace } from './slice-pace.ts';

export interface PageEventsOptions {
  readonly selector: Selector;
  readonly bounds: Bounds;
  readonly pace: SlicePace;
  /** Tested events without a match before the heads are read. Default TESTS_IN_VAIN_MIN. */
  readonly testsInVain?: number;
  /** Maximum number of heads to read the first time. Default HEADS_MIN. */
  readonly headsMin?: number;
}

const TESTS_IN_VAIN_MIN = 16_384;
/** Tests of an event that cost as much as reading a head. */
const TESTS_PER_HEAD = 4;
/** Maximum number of heads to read at once; later it grows with the cost of the tests without a match. */
const HEADS_MIN = 4096;

export function pageEvents(reader: DatabaseReader, options: PageEventsOptions): EventChunks {
  return new PageEvents(reader, options);
}

class PageEvents implements EventChunks {
  readonly #reader: DatabaseReader;
  readonly #options: PageEventsOptions;
  readonly #scan: PageScan;
  readonly #test: EventTest | undefined;
  readonly #passingTest: PassingTest | undefined;
  readonly #passing: PassingEvent = new PassingEvent();
  #testsInVain = 0;
  /** Number of tests without a match after which the heads are read. */
  #patience: number;

  constructor(reader: DatabaseReader, options: PageEventsOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#scan = new PageScan(reader, { ...options.bounds, pace: options.pace });
    this.#test = testOf(options.selector);
    this.#passingTest = passingTestOf(options.selector);
    this.#patience = options.testsInVain ?? TESTS_IN_VAIN_MIN;
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    const pages = await this.#nextPages();
    if (pages === undefined) return undefined;
    const selected: StoredEvent[] = [];
    for (const page of pages) {
      const events = eventsOfPage(this.#reader, page, this.#options.bounds);
      const before = selected.length;
      for (const event of events) {
        if (selected.length < left && (this.#test === undefined || this.#test(event))) selected.push(event);
      }
      this.#testsInVain = selected.length > before ? 0 : this.#testsInVain + events.length;
    }
    return selected;
  }

  async visit(left: number, visitor: EventVisitor): Promise<number | undefined> {
    const pages = await this.#nextPages();
    if (pages === undefined) return undefined;
    let count = 0;
    for (const page of pages) count += this.#visitPage(page, left - count, visitor);
    return count;
  }

  #visitPage(page: Page, left: number, visitor: EventVisitor): number {
    const { first, last, ranks } = this.#options.bounds;
    const [event, test] = [this.#passing, this.#passingTest];
    let passed = 0;
    let selected = 0;
    for (const transaction of this.#reader.transactions(page)) {
      const { revision, eventCount } = transaction;
      if (revision < first || revision > last) continue;
      for (let index = 0; index < eventCount; index++) {
        if (rankOf(revision, index, 'forward') < ranks.first) continue;
        passed++;
        event.inTransaction(transaction, index);
        if (selected === left || (test !== undefined && !test(event))) continue;
        visitor(event);
        selected++;
      }
    }
    this.#testsInVain = selected > 0 ? 0 : this.#testsInVain + passed;
    return selected;
  }

  async #nextPages(): Promise<readonly Page[] | undefined> {
    if (this.#testsInVain >= this.#patience && !(await this.#leap())) return undefined;
    return this.#scan.next();
  }

  /** Skips to the next possible match. Returns false when there is none. */
  async #leap(): Promise<boolean> {
    const { selector, bounds, testsInVain = TESTS_IN_VAIN_MIN, headsMin = HEADS_MIN } = this.#options;
    const { first, last } = this.#scan.rest;
    if (first > last) return false;
    const headsMax = Math.max(headsMin, this.#patience / TESTS_PER_HEAD);
    const rest = { ...bounds, first, last };
    const { revision, headCount } = await nextMatch(this.#reader, { selector, bounds: rest, headsMax });
    this.#testsInVain = 0;
    this.#patience = Math.max(testsInVain, 2 * headCount * TESTS_PER_HEAD);
    if (revision !== undefined) this.#scan.skipTo(revision);
    return revision !== undefined;
  }
}

/** The events of a page that are within the bounds, in their direction. */
function eventsOfPage(reader: DatabaseReader, page: Page, bounds: Bounds): readonly StoredEvent[] {
  const { direction, first, last, ranks } = bounds;
  const events = reader
    .transactions(page)
    .filter(({ revision }) => revision >= first && revision <= last)
    .flatMap((transaction) => eventsOf(transaction))
    .filter(({ position }) => rankOf(position.revision, position.index, direction) >= ranks.first);
  return direction === 'forward' ? events : events.toReversed();
}
