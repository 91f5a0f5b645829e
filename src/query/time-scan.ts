/**
 * Index entries in the order of effective time, from rows that list the events of a flush by the second of their
 * effective time.
 *
 * ```
 * second 17   revision 1: …   revision 5: …   revision 9: …     a second's rows are merged by sorting
 * second 18   revision 2: …
 * ```
 * A slice has whole seconds until it has enough. A second with more events than fit is read in several slices, each of
 * which reads all its rows: the time grows, not the memory. (Q3)
 */
import { compareInstants, INSTANT_SECONDS_MAX, INSTANT_SECONDS_MIN, type Instant } from '#base';
import { type DatabaseReader, type PostingEntry, readTimeKey, readTimeRow } from '#database';
import type { KvRange, KvRow } from '#kv';
import type { Direction, EffectiveTimeBounds } from '#model';
import { Selection, type TimePlace } from './time-place.ts';

export interface TimeScanOptions {
  readonly direction: Direction;
  readonly times: EffectiveTimeBounds;
  /** Revisions, both inclusive. */
  readonly first: number;
  readonly last: number;
  /** The scan continues after this place. */
  readonly after: TimePlace | undefined;
  /** Maximum number of entries of one second in memory; default SELECTED_MAX. */
  readonly selectedMax?: number;
}

/** A slice ends with the second in which it reaches so many entries, or has read so many rows… */
const SLICE_ENTRIES = 512;
const SLICE_ROWS = 4096;
/** …unless there are more entries than these: the next slice then continues in the same second. */
export const SELECTED_MAX: number = 65_536;
const ROWS_AHEAD_MIN = 8;
const ROWS_AHEAD_GROWTH = 4;
const ROWS_AHEAD_MAX = 256;

export class TimeScan {
  readonly #reader: DatabaseReader;
  readonly #options: TimeScanOptions;
  #after: TimePlace | undefined;
  /** The second that the next slice begins with. */
  #second: number;
  #over = false;
  #rowsAhead = ROWS_AHEAD_MIN;
  #wastedRows = 0;

  constructor(reader: DatabaseReader, options: TimeScanOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#after = options.after;
    const { start, end } = options.times;
    const isForward = options.direction === 'forward';
    const edge = isForward ? (start?.seconds ?? INSTANT_SECONDS_MIN) : (end?.seconds ?? INSTANT_SECONDS_MAX);
    const from = options.after?.seconds ?? edge;
    this.#second = isForward ? Math.max(edge, from) : Math.min(edge, from);
  }

  /** Rows that the last slice read in addition to one for each of its entries. */
  get wastedRows(): number {
    return this.#wastedRows;
  }

  /**
   * The next entries, in order; empty when none were found yet; undefined at the end. A slice that would read more than
   * `wastedMax` is abandoned: it has no entries, and the scan cannot continue.
   */
  async next(wastedMax: number = Number.POSITIVE_INFINITY): Promise<readonly PostingEntry[] | undefined> {
    if (this.#over) return undefined;
    const { direction, selectedMax = SELECTED_MAX } = this.#options;
    const selection = new Selection(direction, selectedMax, this.#after);
    const range = this.#openRange();
    try {
      await this.#fill(selection, range, wastedMax);
    } finally {
      await range.close();
    }
    if (this.#wastedRows > wastedMax) return [];
    const entries = selection.take();
    const last = entries.at(-1);
    if (last !== undefined) this.#after = last;
    if (selection.overflowed && last !== undefined) {
      this.#over = false;
      this.#second = last.seconds;
    }
    return entries;
  }

  /** Offers whole seconds until there is enough, or none is left. */
  async #fill(selection: Selection, range: KvRange, wastedMax: number): Promise<void> {
    let rowCount = 0;
    this.#wastedRows = 0;
    while (this.#wastedRows <= wastedMax) {
      const rows = await range.next(this.#rowsAhead);
      this.#rowsAhead = Math.min(ROWS_AHEAD_MAX, this.#rowsAhead * ROWS_AHEAD_GROWTH);
      this.#over = rows.length === 0;
      if (this.#over) return;
      for (const row of rows) {
        rowCount += 1;
        const isEnough = selection.count >= SLICE_ENTRIES || rowCount > SLICE_ROWS;
        const { seconds } = readTimeKey(row.key);
        const isNewSecond = seconds !== this.#second;
        this.#second = seconds;
        if (isNewSecond && isEnough) return;
        this.#offer(selection, row);
        this.#wastedRows = Math.max(0, rowCount - selection.count);
      }
    }
  }

  #offer(selection: Selection, row: KvRow): void {
    const { first, last, times } = this.#options;
    const place = readTimeKey(row.key);
    if (place.firstRevision > last) return;
    for (const entry of readTimeRow(row.key, row.value, place)) {
      if (entry.revision >= first && entry.revision <= last && isWithin(entry, times)) selection.offer(entry);
    }
  }

  #openRange(): KvRange {
    const { direction, times } = this.#options;
    const isForward = direction === 'forward';
    const from = isForward ? this.#second : (times.start?.seconds ?? INSTANT_SECONDS_MIN);
    const to = isForward ? (times.end?.seconds ?? INSTANT_SECONDS_MAX) : this.#second;
    return this.#reader.source.kv.range({ ...this.#reader.keys.times(from, to + 1), reverse: !isForward });
  }
}

/** Returns true when an instant is within the bounds, both inclusive. */
export function isWithin(instant: Instant, { start, end }: EffectiveTimeBounds): boolean {
  return (
    (start === undefined || compareInstants(instant, start) >= 0) &&
    (end === undefined || compareInstants(instant, end) <= 0)
  );
}
