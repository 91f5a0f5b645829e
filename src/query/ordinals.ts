/**
 * The numbers that the EvidentSource SDK counts events by: the first event of a database is 1, the next one 2, whatever
 * transactions they came in. Each stored page says how many events came before it, so neither way walks the log.
 */
import { DatabaseReader, type DatabaseSource } from '#database';
import type { Position } from '#model';

export class EventOrdinals {
  readonly #reader: DatabaseReader;
  /** The transaction asked for last: neighbours share it. */
  #revision = 0;
  #before = 0;

  constructor(source: DatabaseSource) {
    this.#reader = new DatabaseReader(source);
  }

  /** Of an event that is applied. */
  of({ revision, index }: Position): number {
    return this.before(revision) + index + 1;
  }

  /** How many events came before the revision, which is applied and not 0. */
  before(revision: number): number {
    if (revision !== this.#revision) {
      const { totalEvents, eventCount } = this.#reader.pageOf(revision).record(revision);
      this.#before = totalEvents - eventCount;
      this.#revision = revision;
    }
    return this.#before;
  }

  /** The last revision up to `at` that has fewer than so many events before it: where that event is, if it is there. */
  revisionOf(ordinal: number, at: number): number {
    let low = 1;
    let high = at;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.before(middle) < ordinal) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
