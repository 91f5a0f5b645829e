/**
 * The index entries of selected events, from the transactions of a range of revisions: each event is tested in place,
 * and an entry is made for it as in a list. The cost of a short range does not depend on the size of the database. (Q4)
 */
import { instantFromMs, varintLength } from '#base';
import type { DatabaseReader, PostingEntry, StoredTransaction } from '#database';
import { eventFacts, matcherOf, type Selector } from '#model';
import type { Bounds } from './bounds.ts';
import type { SlicePace } from './event-chunks.ts';
import { HistoryScan } from './history-scan.ts';

export interface HistoryEntriesOptions {
  readonly selector: Selector;
  /** Both of its revisions inclusive; its direction is that of the entries. */
  readonly bounds: Bounds;
  readonly pace: SlicePace;
}

type Matcher = ReturnType<typeof matcherOf>;

export class HistoryEntries {
  readonly #scan: HistoryScan;
  readonly #matches: Matcher;

  constructor(reader: DatabaseReader, { selector, bounds, pace }: HistoryEntriesOptions) {
    this.#scan = new HistoryScan(reader, { ...bounds, pace });
    this.#matches = matcherOf(selector);
  }

  /** Offers the entries of the next slice, unordered. Returns false at the end. */
  async step(offer: (entry: PostingEntry) => void): Promise<boolean> {
    const transactions = await this.#scan.next();
    for (const transaction of transactions ?? []) offerEvents(transaction, this.#matches, offer);
    return transactions !== undefined;
  }

  /** Nothing to release: it keeps no range open. */
  async release(): Promise<void> {}
}

function offerEvents(transaction: StoredTransaction, matches: Matcher, offer: (entry: PostingEntry) => void): void {
  const { revision, recordedTimeMs, bytes, view, position } = transaction;
  const recorded = instantFromMs(recordedTimeMs);
  for (const [index, from] of view.body.eventStarts.entries()) {
    const to = view.body.eventEnds[index] ?? from;
    const facts = eventFacts(bytes, from, to);
    if (!matches(bytes, facts)) continue;
    const { seconds, nanos } = facts.hasTime ? facts : recorded;
    const hasStoredId = view.storedIds.some((stored) => stored.index === index);
    // The length of an event precedes it.
    const at = position + from - varintLength(to - from);
    offer({ revision, index, position: at, seconds, nanos, recordedTimeMs, hasStoredId });
  }
}
