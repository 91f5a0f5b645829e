/**
 * The newest events of one posting list, looked at backwards until one matches: the L of a selector whose equality few
 * events meet is found in the list of the equality, however old it is.
 */
import { assert } from '#base';
import type { Conjunction } from '#model';
import { EventMatcher, type EventPattern, patternOf } from './event-pattern.ts';
import { EventSkim } from './event-skim.ts';
import type { HeadName } from './keys.ts';
import { PostingCursor } from './posting-cursor.ts';
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
  readonly #matcher: EventMatcher = new EventMatcher();
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

  async lookBack(name: HeadName, wanted: Conjunction): Promise<ListedLookBack> {
    const cursor = PostingCursor.open(this.#reader, { name, at: this.#revision, direction: 'reverse' });
    if (cursor === undefined) return { found: 0, lookedDownTo: 0 };
    try {
      return await this.#lookBackBy(cursor, patternOf(wanted));
    } finally {
      await cursor.close();
    }
  }

  async #lookBackBy(cursor: PostingCursor, pattern: EventPattern): Promise<ListedLookBack> {
    let lookedDownTo = this.#revision;
    let paidFor = 0;
    while (cursor.advance() || (await cursor.load())) {
      const { revision } = cursor;
      lookedDownTo = revision;
      if (!this.#pay(revision, paidFor)) return { found: 0, lookedDownTo };
      paidFor = revision;
      if (this.#matches(cursor, pattern)) return { found: revision, lookedDownTo };
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

  #matches({ entry }: PostingCursor, pattern: EventPattern): boolean {
    const { bytes } = this.#reader.eventOf(entry);
    const skim = new EventSkim(bytes);
    assert(skim.read(0, bytes.length), 'A stored event is in canonical form', entry.revision);
    return this.#matcher.matches(pattern, bytes, skim);
  }
}
