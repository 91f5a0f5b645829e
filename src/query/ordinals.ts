/**
 * Event ordinals of the EvidentSource SDK: the first event of a database is 1, the next one 2, across transactions.
 * Each transaction is stored with the number of events up to it, so neither direction walks the log.
 */
import { DatabaseReader, type DatabaseSource, lastRevision } from '#database';
import type { Position } from '#model';

export class EventOrdinals {
  readonly #reader: DatabaseReader;

  constructor(source: DatabaseSource) {
    this.#reader = new DatabaseReader(source);
  }

  /** Ordinal of an applied event. */
  of({ revision, index }: Position): number {
    return this.before(revision) + index + 1;
  }

  /** Number of events before the revision, which is applied and not 0. */
  before(revision: number): number {
    return revision === 1 ? 0 : this.#reader.transactionHead(revision - 1).totalEvents;
  }

  /** The last revision up to `at` with fewer events before it than the ordinal; it contains the event if any does. */
  async revisionOf(ordinal: number, at: number): Promise<number> {
    const bounds = { low: 0, high: at - 1 };
    return 1 + (await lastRevision(this.#reader, bounds, ({ totalEvents }) => totalEvents < ordinal));
  }
}
