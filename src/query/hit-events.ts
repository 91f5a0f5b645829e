/** The events of index entries, in the order of the entries. */
import { type DatabaseReader, END_RANK, type Hits, type PostingEntry, type StoredEvent } from '#database';
import type { SlicePace } from './event-chunks.ts';
import { Candidates, type EventChunks, Slice } from './event-chunks.ts';
import type { EventTest } from './event-predicates.ts';
import { offerHits } from './list-entries.ts';

export interface HitEventsOptions {
  readonly hits: Hits;
  /** Test of each candidate; absent when the index is exact. */
  readonly test: EventTest | undefined;
  readonly pace: SlicePace;
}

/** Reads of the store for one slice, each of which may return some thousand entries. */
const SLICE_READS = 64;

export class HitEvents implements EventChunks {
  readonly #options: HitEventsOptions;
  readonly #candidates: Candidates;
  /** Entries that are found and in no slice yet. */
  readonly #found: PostingEntry[] = [];

  constructor(reader: DatabaseReader, options: HitEventsOptions) {
    this.#options = options;
    this.#candidates = new Candidates(reader);
  }

  get isOver(): boolean {
    return this.#found.length === 0 && this.#options.hits.rank === END_RANK;
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    const { hits, test, pace } = this.#options;
    const slice = new Slice(left, pace);
    for (let readsLeft = SLICE_READS; !slice.full; ) {
      const entriesMax = this.#candidates.roomIn(slice, test) - this.#found.length;
      const limits = { entriesMax, readsMax: readsLeft };
      // Lists with few common events need long walks without a match, so the slice ends after many reads.
      readsLeft -= await offerHits(hits, limits, (entry) => this.#found.push(entry));
      if (this.#found.length === 0) break;
      this.#found.splice(0, await this.#candidates.readInto(slice, this.#found, test));
    }
    await hits.release();
    return this.isOver && slice.events.length === 0 ? undefined : slice.events;
  }
}
