/** The events of index entries, in the order of the entries. */
import type { DatabaseReader, StoredEvent } from '#database';
import type { EventChunks } from './event-chunks.ts';
import { Slice } from './event-chunks.ts';
import type { EventTest } from './event-test.ts';
import type { Hits } from './hits.ts';
import { END_RANK } from './rank.ts';
import type { SlicePace } from './slice-pace.ts';

export interface HitEventsOptions {
  readonly hits: Hits;
  /** Test of each candidate; absent when the index is exact. */
  readonly test: EventTest | undefined;
  readonly pace: SlicePace;
}

/** Reads of the store for one slice, each of which may return some thousand entries. */
const SLICE_READS = 64;

export function hitEvents(reader: DatabaseReader, options: HitEventsOptions): EventChunks {
  const { hits, test, pace } = options;
  let isOver = false;
  return {
    get isOver(): boolean {
      return isOver;
    },
    next: async (left: number): Promise<readonly StoredEvent[] | undefined> => {
      const slice = new Slice(left, pace);
      for (let reads = 0; !slice.full && !isOver; ) {
        if (!hits.ready) {
          // Lists with few common events need long walks without a match, so the slice ends here.
          if (++reads > SLICE_READS) break;
          await hits.settle();
          continue;
        }
        const { rank } = hits;
        isOver = rank === END_RANK;
        if (isOver) break;
        const event = reader.eventOf(hits.entry());
        if (test !== undefined && !test(event)) slice.pass();
        else if (!slice.add(event)) break;
        hits.seek(rank + 1);
      }
      await hits.release();
      return isOver && slice.events.length === 0 ? undefined : slice.events;
    },
  };
}
