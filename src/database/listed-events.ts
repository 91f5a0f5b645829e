/**
 * The newest events of one posting list, looked at backwards until one matches: the L of a selector whose equality few
 * events meet is found in the list of the equality, however old it is.
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
  /** Every event of the list above this revision has been looked at; 0: every event. */
  readonly lookedDownTo: number;
}

/** Limits are for all lists together. A transaction counts whole, once for each list that it is met in. */
export class ListedEvents {
  readonly #reader: DatabaseReader;
  readonly #revision: number;
  #comparisons: number;
  #bytes: number;

  /** `revision` is the database's, all of it in the store. */
  constructor(
    reader: DatabaseReader,
    { revision, comparisons, bytes }: LookBackLimits & { readonly revision: number },
  ) {
    this.#reader = reader;
    this.#revision = revision;
    this.#comparisons = comparisons;
    this.#bytes = bytes;
  }

  /** Events that may still be looked at. */
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

  /** Takes an event of the revision off what is left; false when that is too little. */
  #pay(revision: number, paidFor: number): boolean {
    if (revision !== paidFor) {
      const { position, end } = this.#reader.transactionHead(revision);
      this.#bytes -= end - position;
    }
    this.#comparisons--;
    return this.#comparisons >= 0 && this.#bytes >= 0;
  }
}
