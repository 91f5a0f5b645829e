/**
 * The events of index entries, in the order of the entries.
 */
import type { DatabaseReader, StoredEvent } from '#database';
import type { EventChunks } from './event-chunks.ts';
import { Slice } from './event-chunks.ts';
import type { EventTest } from './event-test.ts';
import { type Hits, settled } from './hits.ts';
import { END_RANK } from './rank.ts';
import type { SlicePace } from './slice-pace.ts';

export interface HitEventsOptions {
  readonly hits: Hits;
  /** Of each event that the index names; absent when the index is sure. */
  readonly test: EventTest | undefined;
  readonly pace: SlicePace;
}

export function hitEvents(reader: DatabaseReader, options: HitEventsOptions): EventChunks {
  const { hits, test, pace } = options;
  return {
    next: async (left: number): Promise<readonly StoredEvent[] | undefined> => {
      const slice = new Slice(left, pace);
      let rank = hits.rank;
      while (!slice.full) {
        rank = hits.ready ? hits.rank : await settled(hits);
        if (rank === END_RANK) break;
        const event = reader.eventOf(hits.entry());
        if (test !== undefined && !test(event)) slice.pass();
        else if (!slice.add(event)) break;
        hits.seek(rank + 1);
      }
      await hits.release();
      return rank === END_RANK && slice.events.length === 0 ? undefined : slice.events;
    },
  };
}
