/**
 * The index entries of selected events, from the pages of a range of revisions: each event is tested in place, and an
 * entry is made for it as in a list. The cost of a short range does not depend on the size of the database. (Q4)
 */
import { type Instant, instantFromMs, varintLength } from '#base';
import type { DatabaseReader, Page, PostingEntry, StoredTransaction } from '#database';
import { eventFacts, matcherOf, type Selector } from '#model';
import type { Bounds } from './bounds.ts';
import { PageScan } from './page-scan.ts';
import type { SlicePace } from './slice-pace.ts';

export interface PageEntriesOptions {
  readonly selector: Selector;
  /** Both of its revisions inclusive; its direction is that of the entries. */
  readonly bounds: Bounds;
  readonly pace: SlicePace;
}

type Matcher = ReturnType<typeof matcherOf>;

export class PageEntries {
  readonly #reader: DatabaseReader;
  readonly #bounds: Bounds;
  readonly #scan: PageScan;
  readonly #matches: Matcher;

  constructor(reader: DatabaseReader, { selector, bounds, pace }: PageEntriesOptions) {
    this.#reader = reader;
    this.#bounds = bounds;
    this.#scan = new PageScan(reader, { ...bounds, pace });
    this.#matches = matcherOf(selector);
  }

  /** Offers the entries of the next pages, unordered. Returns false at the end. */
  async step(offer: (entry: PostingEntry) => void): Promise<boolean> {
    const pages = await this.#scan.next();
    if (pages === undefined) return false;
    const { first, last } = this.#bounds;
    for (const page of pages) {
      const records = page.records();
      for (const [place, transaction] of this.#reader.transactions(page).entries()) {
        const { revision } = transaction;
        if (revision < first || revision > last) continue;
        offerEvents({ page, transaction, start: records[place]?.start ?? 0 }, this.#matches, offer);
      }
    }
    return true;
  }

  /** Nothing to release: it keeps no range open. */
  async release(): Promise<void> {}
}

interface PlacedTransaction {
  readonly page: Page;
  readonly transaction: StoredTransaction;
  /** Offset of its bytes in the body of the page. */
  readonly start: number;
}

function offerEvents(
  { page, transaction, start }: PlacedTransaction,
  matches: Matcher,
  offer: (entry: PostingEntry) => void,
): void {
  const { revision, recordedTimeMs, bytes, view } = transaction;
  const recorded: Instant = instantFromMs(recordedTimeMs);
  const pageOffset = revision - page.firstRevision;
  for (const [index, from] of view.body.eventStarts.entries()) {
    const to = view.body.eventEnds[index] ?? from;
    const facts = eventFacts(bytes, from, to);
    if (!matches(bytes, facts)) continue;
    const { seconds, nanos } = facts.hasTime ? facts : recorded;
    // The length of an event precedes it.
    const offset = start + from - varintLength(to - from);
    offer({ revision, index, pageOffset, offset, seconds, nanos });
  }
}
