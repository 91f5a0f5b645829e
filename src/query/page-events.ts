/**
 * The events of the log itself, page after page in a direction, each page read once. (Q6)
 *
 * Where events are tested and none is selected for a long while, the walk asks the heads how far the next one is, and
 * goes on there: it reads what lies between the selected events only as far as that is cheaper than asking. (Q4)
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
  /** Events that are tested in vain before the heads are asked. Default TESTS_IN_VAIN_MIN. */
  readonly testsInVain?: number;
  /** Heads that may be asked the first time. Default HEADS_MIN. */
  readonly headsMin?: number;
}

const TESTS_IN_VAIN_MIN = 16_384;
/** Reading a head costs about as much as testing so many events. */
const TESTS_PER_HEAD = 4;
/** Heads that may be asked at once; later as many as the tests in vain have cost. */
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
  /** So many of them, and the heads are asked. */
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

  /** Goes on where the next event may be selected. False when there is none. */
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
