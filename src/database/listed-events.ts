/**
 * Reads the events of one posting list backwards until one matches: when few events have the value of an equality, L of
 * the selector is found in the list of that equality, however old it is.
 */
import { type Conjunction, eventFacts, type Matcher, matcherOf, selectorOf } from '#model';
import type { HeadContent } from './head.ts';
import { type Hits, settled } from './hits.ts';
import { listHits } from './list-hits.ts';
import { END_RANK, rankRange } from './rank.ts';
import type { DatabaseReader } from './reader.ts';
import type { LookBackLimits } from './recent-events.ts';

export interface ListedLookBack {
  /** The latest match; 0: none was seen. */
  readonly found: number;
  /** Every event of the list above this revision was tested; 0: every event. */
  readonly lookedDownTo: number;
}

/** The limits apply to all lists together. A transaction counts with all its bytes, once for each list. */
export class ListedEvents {
  readonly #reader: DatabaseReader;
  readonly #revision: number;
  #comparisons: number;
  #bytes: number;

  /** `revision` is that of the database; everything up to it is in the store. */
  constructor(
    reader: DatabaseReader,
    { revision, comparisons, bytes }: LookBackLimits & { readonly revision: number },
  ) {
    this.#reader = reader;
    this.#revision = revision;
    this.#comparisons = comparisons;
    this.#bytes = bytes;
  }

  /** Events that may still be tested. */
  get comparisonsLeft(): number {
    return this.#comparisons;
  }

  async lookBack(list: HeadContent, wanted: Conjunction): Promise<ListedLookBack> {
    const hits = listHits(this.#reader, list, rankRange(1, this.#revision, 'reverse'));
    try {
      return await this.#lookBackBy(hits, matcherOf(selectorOf(wanted)));
    } finally {
      await hits.release();
    }
  }

  async #lookBackBy(hits: Hits, matches: Matcher): Promise<ListedLookBack> {
    let paidFor = 0;
    for (; (hits.ready ? hits.rank : await settled(hits)) !== END_RANK; hits.seek(hits.rank + 1)) {
      const entry = hits.entry();
      const { revision } = entry;
      if (!this.#pay(revision, paidFor)) return { found: 0, lookedDownTo: revision };
      paidFor = revision;
      const bytes = this.#reader.eventBytes(entry);
      if (matches(bytes, eventFacts(bytes, 0, bytes.length))) return { found: revision, lookedDownTo: revision };
    }
    return { found: 0, lookedDownTo: 0 };
  }

  /** Subtracts an event of the revision from the budget; false when the budget is exhausted. */
  #pay(revision: number, paidFor: number): boolean {
    if (revision !== paidFor) {
      const { position, end } = this.#reader.transactionHead(revision);
      this.#bytes -= end - position;
    }
    this.#comparisons--;
    return this.#comparisons >= 0 && this.#bytes >= 0;
  }
}
