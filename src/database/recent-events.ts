/**
 * Reads the newest events of a database backwards until each of some alternatives has a match: L of a selector that
 * many events match is near the end.
 */
import { type Conjunction, eventFacts, type Matcher, matcherOf, selectorOf } from '#model';
import type { DatabaseReader } from './reader.ts';
import type { StoredTransaction } from './record.ts';

/**
 * Limits of the search: it skips a transaction that exceeds `bytes`, and ends inside one that exceeds `comparisons`.
 */
export interface LookBackLimits {
  /** Events times alternatives. */
  readonly comparisons: number;
  /** Bytes of the logged transactions. */
  readonly bytes: number;
}

export class RecentEvents {
  readonly #reader: DatabaseReader;
  readonly #alternatives: readonly Matcher[];
  /** Revision per alternative, by its place; 0: not seen. */
  readonly #found: number[];
  #openCount: number;
  #lookedDownTo: number;

  /** `revision` is the database's, all of it in the store. */
  constructor(reader: DatabaseReader, alternatives: readonly Conjunction[], revision: number) {
    this.#reader = reader;
    this.#alternatives = alternatives.map((wanted) => matcherOf(selectorOf(wanted)));
    this.#found = alternatives.map(() => 0);
    this.#openCount = alternatives.length;
    this.#lookedDownTo = revision;
  }

  /** Every event above this revision was tested. */
  get lookedDownTo(): number {
    return this.#lookedDownTo;
  }

  /** L of the alternative with this index; 0 when no tested event matches it. */
  found(place: number): number {
    return this.#found[place] ?? 0;
  }

  /** Continues, until every alternative has a match or a limit is reached. */
  lookBack(limits: LookBackLimits): void {
    let { comparisons, bytes } = limits;
    for (; this.#lookedDownTo > 0 && this.#openCount > 0; this.#lookedDownTo--) {
      const revision = this.#lookedDownTo;
      const events = Math.floor(comparisons / this.#alternatives.length);
      // From its head, so that a transaction that is too long is not read.
      const { position, end } = this.#reader.transactionHead(revision);
      bytes -= end - position;
      if (events === 0 || bytes < 0) return;
      const transaction = this.#reader.transaction(revision);
      const { eventCount } = transaction;
      const affordable = Math.min(eventCount, events);
      comparisons -= eventCount * this.#alternatives.length;
      this.#lookAt(transaction, affordable);
      // An alternative that matches one of these events has its L; another one may match an untested event.
      if (affordable < eventCount) return;
    }
  }

  #lookAt({ revision, bytes, view }: StoredTransaction, eventCount: number): void {
    const { eventStarts, eventEnds } = view.body;
    for (let index = 0; index < eventCount; index++) {
      const facts = eventFacts(bytes, eventStarts[index] ?? 0, eventEnds[index] ?? 0);
      for (const [place, matches] of this.#alternatives.entries()) {
        if (this.#found[place] !== 0 || !matches(bytes, facts)) continue;
        this.#found[place] = revision;
        this.#openCount--;
      }
    }
  }
}
