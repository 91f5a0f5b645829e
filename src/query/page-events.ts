/**
 * The events of the log itself, page after page in a direction, each page read once. (Q6)
 */
import { type DatabaseReader, eventsOf, type Page, type StoredEvent } from '#database';
import type { Bounds } from './bounds.ts';
import type { EventChunks } from './event-chunks.ts';
import type { EventTest } from './event-test.ts';
import { PageScan } from './page-scan.ts';
import { rankOf } from './rank.ts';

export interface PageEventsOptions {
  readonly bounds: Bounds;
  /** Of each event; absent: all. */
  readonly test: EventTest | undefined;
  readonly sliceBytes: number;
}

export function pageEvents(reader: DatabaseReader, options: PageEventsOptions): EventChunks {
  const { bounds, test, sliceBytes } = options;
  const scan = new PageScan(reader, { ...bounds, sliceBytes });
  return {
    next: async (left: number): Promise<readonly StoredEvent[] | undefined> => {
      const pages = await scan.next();
      if (pages.length === 0) return undefined;
      const events: StoredEvent[] = [];
      for (const page of pages) {
        for (const event of eventsOfPage(reader, page, bounds)) {
          if (events.length < left && (test === undefined || test(event))) events.push(event);
        }
      }
      return events;
    },
  };
}

/** The events of a page that are within the bounds, in their direction. */
function eventsOfPage(reader: DatabaseReader, page: Page, bounds: Bounds): readonly StoredEvent[] {
  const { direction, first, last, ranks } = bounds;
  const events = reader
    .transactions(page)
    .filter(({ revision }) => revision >= first && revision <= last)
    .flatMap((transaction) => eventsOf(transaction))
    .filter(({ position }) => rankOf(position.revision, position.index, direction) >= ranks.first);
  return direction === 'forward' ? events : events.toReversed();
}
