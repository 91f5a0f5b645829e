/**
 * The log in the order of revisions: whole transactions as stored.
 *
 * Upwards, a page is returned as stored: its verified body is a LogBatch. Only the first and last pages of a scan are
 * cut, between two transactions; downwards the records of each page are reversed. (Q6)
 */
import { DatabaseReader, type DatabaseSource, type Page, type PageRecord, type StoredEvent } from '#database';
import type { Direction } from '#model';
import { ALL } from '#model';
import { boundsOf, isEmpty } from './bounds.ts';
import { PageScan } from './page-scan.ts';
import { type Cancellation, queryEvents } from './query-events.ts';
import { pulled, type SlicePace } from './slice-pace.ts';

export interface LogScan {
  /** The revision of the read. It must be applied before. */
  readonly at: number;
  /** Inclusive; absent or 0: the first one in the direction. */
  readonly start?: number | undefined;
  readonly direction: Direction;
  /** Maximum transactions for `scanLogBatches`, events for `scanLogEvents`; absent: all. */
  readonly limit?: number | undefined;
  readonly signal?: Cancellation | undefined;
  /** Time and size of the next slice. Default: when it is pulled, 256 KiB. */
  readonly pace?: SlicePace | undefined;
  /** True: a slice is valid until the next one is pulled. Default false: as long as referenced. */
  readonly lent?: boolean | undefined;
}

/** Consecutive transactions in wire form. */
export interface LogSlice {
  /** The first and the last in the order of the scan, both inclusive. */
  readonly firstRevision: number;
  readonly lastRevision: number;
  /** A `LogBatch`: a view into a page, or a copy of a reversed page. */
  readonly bytes: Uint8Array;
}

/** Transactions, a page at a time. */
export async function* scanLogBatches(source: DatabaseSource, scan: LogScan): AsyncGenerator<readonly LogSlice[]> {
  const { pace = pulled() } = scan;
  const reader = new DatabaseReader(source, { lends: scan.lent });
  try {
    yield* slicesOfPages(reader, scan, pace);
  } finally {
    reader.releasePages();
    pace.rest();
  }
}

async function* slicesOfPages(
  reader: DatabaseReader,
  scan: LogScan,
  pace: SlicePace,
): AsyncGenerator<readonly LogSlice[]> {
  const { direction } = scan;
  const bounds = boundsOf({ at: scan.at, revisions: revisionsOf(scan), direction });
  if (isEmpty(bounds)) return;
  const { first, last } = bounds;
  const pages = new PageScan(reader, { direction, first, last, pace });
  let left = scan.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0 && scan.signal?.aborted !== true) {
    await pace.ready();
    const slices: LogSlice[] = [];
    const some = await pages.next();
    if (some === undefined) return;
    for (const page of some) {
      const from = Math.max(first, page.firstRevision);
      const to = Math.min(last, page.lastRevision);
      const count = Math.min(left, to - from + 1);
      if (count === 0) break;
      left -= count;
      slices.push(
        direction === 'forward' ? sliceUp(page, from, from + count - 1) : sliceDown(page, to, to - count + 1),
      );
    }
    yield slices;
    reader.releasePages();
  }
}

/** Events, a slice at a time. */
export function scanLogEvents(source: DatabaseSource, scan: LogScan): AsyncGenerator<readonly StoredEvent[]> {
  const { at, direction, limit, signal, pace, lent } = scan;
  const query = { selector: ALL, revisions: revisionsOf(scan), direction, limit };
  return queryEvents(source, { at, query, signal, pace, lent });
}

function revisionsOf({ start = 0, direction }: LogScan): { readonly start?: number; readonly end?: number } {
  if (start === 0) return {};
  return direction === 'forward' ? { start } : { end: start };
}

function sliceUp(page: Page, firstRevision: number, lastRevision: number): LogSlice {
  const whole = firstRevision === page.firstRevision && lastRevision === page.lastRevision;
  const from = whole ? 0 : tagStart(page, firstRevision);
  const to = whole ? page.bodyLength : page.record(lastRevision).end;
  return { firstRevision, lastRevision, bytes: page.slice(from, to) };
}

function sliceDown(page: Page, firstRevision: number, lastRevision: number): LogSlice {
  const records = page.records().filter(({ revision }) => revision <= firstRevision && revision >= lastRevision);
  const from = tagStart(page, lastRevision);
  const bytes = new Uint8Array((records.at(-1)?.end ?? from) - from);
  let at = bytes.length;
  for (const [place, record] of records.entries()) {
    const tagged = page.slice(place === 0 ? from : endOf(records, place - 1), record.end);
    at -= tagged.length;
    bytes.set(tagged, at);
  }
  return { firstRevision, lastRevision, bytes };
}

/** Offset of the tag of a revision's record: directly after the record before. */
function tagStart(page: Page, revision: number): number {
  return revision === page.firstRevision ? 0 : page.record(revision - 1).end;
}

function endOf(records: readonly PageRecord[], place: number): number {
  return records[place]?.end ?? 0;
}
