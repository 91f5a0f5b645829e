/** The log in the order of revisions: whole transactions as stored, or their events. (Q6) */
import { DatabaseReader, type DatabaseSource, type StoredEvent, type StoredTransaction } from '#database';
import type { Direction } from '#model';
import { ALL } from '#model';
import { boundsOf } from './bounds.ts';
import type { SlicePace } from './event-chunks.ts';
import { HistoryScan } from './history-scan.ts';
import { type Cancellation, queryEvents, slicesOf } from './query-events.ts';

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

/** Transactions, a slice at a time; a slice is empty when the next one must wait for room. */
export function scanLogBatches(source: DatabaseSource, scan: LogScan): AsyncGenerator<readonly StoredTransaction[]> {
  const { at, direction, lent } = scan;
  const reader = new DatabaseReader(source, { lends: lent });
  const { first, last } = boundsOf({ at, revisions: revisionsOf(scan), direction });
  return slicesOf(reader, scan, async (pace) => {
    const history = new HistoryScan(reader, { direction, first, last, pace });
    return { next: (left) => history.next(left) };
  });
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
