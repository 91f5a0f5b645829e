/**
 * Selected events in the order of effective time.
 *
 * There are three ways. The rows of the time index are in order, but every event of the time range must be tested with
 * the selector. The selector's own lists contain only selected events, and the history contains only events in the
 * revision range, but all of either must be walked before the first event is known.
 *
 * ```
 * scan     wastes the rows without an event of the range, and the events that are not selected
 * pass     costs the rows of the lists, or the history, whichever is less; gives the next SELECTED_MAX events
 *
 *        scan ──when it has wasted as much as a pass would cost──► pass
 *             ◄──────────when there are more events after it──────
 * ```
 * The cheaper way depends on the unknown distribution of the selected events over time. Alternating wastes at most
 * about twice the cost of the better way, for each SELECTED_MAX events of the answer. When a pass is cheaper than a few
 * rows of the time index, it comes first. (Q4)
 */
import { assert } from '#base';
import { type DatabaseReader, eventsOf, type PostingEntry, rankRange, type StoredEvent } from '#database';
import type { Direction, EffectiveTimeBounds, Position, Selector } from '#model';
import { type Bounds, historyCost, isEmpty, upTo } from './bounds.ts';
import type { SlicePace } from './event-chunks.ts';
import { Candidates, type EventChunks, Slice } from './event-chunks.ts';
import { type EventTest, effectiveTimeOf, testOf } from './event-predicates.ts';
import { HistoryEntries } from './history-entries.ts';
import { transactionOf } from './history-scan.ts';
import { ListEntries } from './list-entries.ts';
import { type Plan, planSelector } from './plan.ts';
import { SortedPass } from './sorted-pass.ts';
import type { TimePlace } from './time-place.ts';
import { TimeScan } from './time-scan.ts';

export interface TimeEventsOptions {
  /** The revision of the read. */
  readonly at: number;
  readonly selector: Selector;
  /** In the order of position, for any direction of the walk, and not narrowed by `after`. */
  readonly bounds: Bounds;
  readonly times: EffectiveTimeBounds;
  readonly direction: Direction;
  readonly after: Position | undefined;
  readonly pace: SlicePace;
  /** Maximum number of entries in memory; default SELECTED_MAX. */
  readonly selectedMax?: number;
  /** Default ROWS_AT_ONCE_MAX. */
  readonly rowsAtOnceMax?: number;
}

/** A pass of so few rows is cheaper than starting a scan; also the first allowance of a scan. */
const ROWS_AT_ONCE_MAX = 36;
/** An event that is not selected costs its row of the index, and a read of the history, which is as cheap as a row. */
const ROWS_PER_TEST = 2;
/** Rows of one list that a range of revisions touches beside its own rows. */
const ROWS_BESIDE = 2;
/** Cost of the history that the 64 entries of a row are of, if that list has all of its events. */
const HISTORY_COST_PER_ROW = 8;
const HISTORY: Plan = { kind: 'history' };

/** Undefined when nothing is selected. */
export async function timeEvents(reader: DatabaseReader, options: TimeEventsOptions): Promise<EventChunks | undefined> {
  const after = options.after === undefined ? undefined : await placeOf(reader, options.after, options.at);
  const bounds = after === undefined ? beyond(options) : options.bounds;
  if (isEmpty(bounds)) return undefined;
  const plan = await planSelector(reader, options.selector, bounds);
  return plan.kind === 'nothing' ? undefined : new TimeEvents(reader, { ...options, bounds }, { plan, after });
}

/** The place in time of the event at a position; undefined when there is none up to the revision of the read. */
async function placeOf(
  reader: DatabaseReader,
  { revision, index }: Position,
  at: number,
): Promise<TimePlace | undefined> {
  if (revision < 1 || revision > at) return undefined;
  const event = eventsOf(await transactionOf(reader, revision))[index];
  return event && { ...effectiveTimeOf(event), revision, index };
}

/** The bounds, narrowed by a position without an event, and so without a time: it counts as the end of its revision. */
function beyond({ bounds, after, direction }: TimeEventsOptions): Bounds {
  if (after === undefined) return bounds;
  const revision = Math.min(after.revision, bounds.last);
  if (direction === 'reverse') return upTo(bounds, revision);
  const first = Math.max(bounds.first, revision + 1);
  return { ...bounds, first, ranks: rankRange(first, bounds.last, bounds.direction) };
}

/** Cost of a pass over the lists or the history, in rows. */
interface PassCost {
  readonly way: 'lists' | 'history';
  readonly rows: number;
}

interface Start {
  readonly plan: Plan;
  readonly after: TimePlace | undefined;
}

class TimeEvents implements EventChunks {
  readonly #reader: DatabaseReader;
  readonly #options: TimeEventsOptions;
  readonly #candidates: Candidates;
  readonly #test: EventTest | undefined;
  /** Cleared when a pass walks it: the next pass needs a new one. */
  #plan: Plan | undefined;
  /** Computed once a scan has cost more than computing it. */
  #passCost: PassCost | undefined;
  /** Exactly one of the two is set. */
  #scan: TimeScan | undefined;
  #pass: SortedPass | undefined;
  /** Remaining waste of the scan before a pass: rows without an event, and events that are not selected. */
  #wasteLeft: number;
  /** True when the entries are known to be selected. */
  #isExact = false;
  #entries: readonly PostingEntry[] = [];
  #next = 0;
  /** The last place that was read. */
  #after: TimePlace | undefined;

  constructor(reader: DatabaseReader, options: TimeEventsOptions, { plan, after }: Start) {
    this.#reader = reader;
    this.#options = options;
    this.#plan = plan;
    this.#after = after;
    this.#candidates = new Candidates(reader);
    this.#test = testOf(options.selector);
    this.#wasteLeft = options.rowsAtOnceMax ?? ROWS_AT_ONCE_MAX;
    if (plan.kind !== 'hits' || plan.rowsMax > this.#wasteLeft) this.#startScan();
    else {
      this.#passCost = { way: 'lists', rows: plan.rowsMax };
      this.#startPass(plan);
    }
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    const slice = new Slice(left, this.#options.pace);
    while (!slice.full) {
      if (this.#next < this.#entries.length) {
        await this.#read(slice);
      } else {
        const found = await this.#refill();
        if (found === 'end' && slice.events.length === 0) return undefined;
        if (found !== 'entries') break;
      }
    }
    return slice.events;
  }

  /** Reads the events of the next entries into the slice. */
  async #read(slice: Slice): Promise<void> {
    const test = this.#isExact ? undefined : this.#test;
    const entries = this.#entries.slice(this.#next, this.#next + this.#candidates.roomIn(slice, test));
    const before = slice.events.length;
    const done = await this.#candidates.readInto(slice, entries, test);
    this.#next += done;
    this.#after = this.#entries[this.#next - 1] ?? this.#after;
    const wasted = done - (slice.events.length - before);
    if (this.#scan === undefined || wasted === 0) return;
    this.#wasteLeft -= ROWS_PER_TEST * wasted;
    if (this.#wasteLeft <= 0) await this.#reconsider();
  }

  /** `nothing`: no entries yet; the reader yields and calls again. */
  async #refill(): Promise<'entries' | 'nothing' | 'end'> {
    this.#entries = [];
    this.#next = 0;
    const entries = this.#pass === undefined ? await this.#scanned(this.#scan) : await this.#passed(this.#pass);
    if (entries === undefined) return 'end';
    // A pass that has replaced the scan in the meantime finds these entries again.
    this.#entries = entries;
    return entries.length === 0 ? 'nothing' : 'entries';
  }

  async #scanned(scan: TimeScan | undefined): Promise<readonly PostingEntry[] | undefined> {
    assert(scan !== undefined, 'Without a pass there is a scan');
    const most = this.#wasteLeft;
    const entries = await scan.next(most);
    this.#wasteLeft -= scan.wastedRows;
    if (this.#wasteLeft > 0 || entries === undefined) return entries;
    await this.#reconsider();
    if (this.#scan === undefined) return [];
    // A scan that abandoned a slice cannot continue.
    if (scan.wastedRows > most) this.#startScan();
    return entries;
  }

  async #passed(pass: SortedPass): Promise<readonly PostingEntry[] | undefined> {
    if (!pass.over) return (await pass.next()) ?? [];
    if (!pass.overflowed) return undefined;
    this.#wasteLeft = this.#passCost?.rows ?? 0;
    this.#startScan();
    return [];
  }

  /** Called when the scan has used its allowance: extends it up to the cost of a pass, or starts a pass. */
  async #reconsider(): Promise<void> {
    if (this.#passCost === undefined) {
      const spent = (this.#options.rowsAtOnceMax ?? ROWS_AT_ONCE_MAX) - this.#wasteLeft;
      this.#passCost = this.#costOfPass();
      this.#wasteLeft = this.#passCost.rows - spent;
      if (this.#wasteLeft > 0) return;
    }
    const { selector, bounds } = this.#options;
    const isHistory = this.#passCost.way === 'history';
    const plan = isHistory ? HISTORY : (this.#plan ?? (await planSelector(this.#reader, selector, bounds)));
    this.#startPass(plan);
    this.#entries = [];
    this.#next = 0;
  }

  #costOfPass(): PassCost {
    const history: PassCost = { way: 'history', rows: historyCost(this.#reader, this.#options.bounds) };
    if (this.#plan?.kind !== 'hits') return history;
    const { rowsMax, listCount } = this.#plan;
    const rows = Math.min(rowsMax, listCount * (ROWS_BESIDE + history.rows / HISTORY_COST_PER_ROW));
    return rows < history.rows ? { way: 'lists', rows } : history;
  }

  #startScan(): void {
    const { first, last } = this.#options.bounds;
    this.#scan = new TimeScan(this.#reader, { ...this.#options, first, last, after: this.#after });
    this.#pass = undefined;
    this.#isExact = false;
  }

  #startPass(plan: Plan): void {
    const isLists = plan.kind === 'hits';
    const walk = isLists ? new ListEntries(plan.hits) : new HistoryEntries(this.#reader, this.#options);
    this.#pass = new SortedPass(walk, { ...this.#options, after: this.#after });
    this.#scan = undefined;
    this.#isExact = isLists ? plan.exact : true;
    if (isLists) this.#plan = undefined;
  }
}
