/**
 * Selected events in the order of effective time.
 *
 * There are two ways. The rows of the time index come in the right order, but every event in the range has to be tested
 * by the selector; the selector's own lists name only events that are selected, but all of them have to be walked and
 * sorted before the first is known. Which one is cheaper depends on what nobody knows beforehand: how the selected
 * events lie in time. So the walk goes the first way until that has cost a part of what the second would, and then
 * changes over, going on behind the event that it has come to. Short lists are sorted at once. Either way a read never
 * costs much more than the better of the two would. (Q4)
 */
import { DatabaseError } from '#base';
import type { DatabaseReader, PostingEntry, StoredEvent } from '#database';
import type { Direction, EffectiveTimeBounds, Position, Selector } from '#model';
import type { Bounds } from './bounds.ts';
import { type EventChunks, Slice } from './event-chunks.ts';
import { type EventTest, effectiveTimeOf, testOf } from './event-test.ts';
import { type Plan, planSelector } from './plan.ts';
import type { SlicePace } from './slice-pace.ts';
import { SortedHits } from './sorted-hits.ts';
import type { TimePlace } from './time-place.ts';
import { SELECTED_MAX, TimeScan } from './time-scan.ts';

export interface TimeEventsOptions {
  /** The revision that is read at. */
  readonly at: number;
  readonly selector: Selector;
  /** In the order of position, whatever the direction of the walk, and not narrowed by `after`. */
  readonly bounds: Bounds;
  readonly times: EffectiveTimeBounds;
  readonly direction: Direction;
  readonly after: Position | undefined;
  readonly pace: SlicePace;
}

/** Testing an event costs about as much as walking so many entries of a list. */
const ENTRIES_PER_TEST = 4;
/** Lists up to here are walked and sorted before a few hundred events could be tested. */
const SORTED_AT_ONCE_MAX = 2048;
/** Longer lists would be walked again and again, once for every SELECTED_MAX entries. */
const SORTED_MAX = 4 * SELECTED_MAX;

export async function timeEvents(reader: DatabaseReader, options: TimeEventsOptions): Promise<EventChunks> {
  const after = options.after === undefined ? undefined : placeOf(reader, options.after, options.at);
  const plan = await planSelector(reader, options.selector, options.bounds);
  return new TimeEvents(reader, options, plan, after);
}

/** Where the event at a position stands in time. */
function placeOf(reader: DatabaseReader, position: Position, at: number): TimePlace {
  const { revision, index } = position;
  const event = revision >= 1 && revision <= at ? reader.eventAt(position) : undefined;
  if (event !== undefined) return { ...effectiveTimeOf(event), revision, index };
  throw new DatabaseError(
    'invalid_argument',
    `There is no event at revision ${revision}, index ${index}, to go on from; take the position of an event that was read`,
    { details: { violations: [{ field: 'after', description: 'is not the position of an event' }] } },
  );
}

class TimeEvents implements EventChunks {
  readonly #reader: DatabaseReader;
  readonly #options: TimeEventsOptions;
  readonly #plan: Plan;
  #source: TimeScan | SortedHits;
  #test: EventTest | undefined;
  /** How many more events may be tested before the walk changes over to the lists. */
  #testsLeft = Number.POSITIVE_INFINITY;
  #entries: readonly PostingEntry[] = [];
  #next = 0;

  constructor(reader: DatabaseReader, options: TimeEventsOptions, plan: Plan, after: TimePlace | undefined) {
    this.#reader = reader;
    this.#options = options;
    this.#plan = plan;
    const { first, last } = options.bounds;
    this.#source = new TimeScan(reader, { ...options, first, last, after });
    this.#test = testOf(options.selector);
    if (plan.kind !== 'hits' || plan.countMax > SORTED_MAX) return;
    if (plan.countMax <= SORTED_AT_ONCE_MAX) this.#changeOver(after, plan);
    else this.#testsLeft = plan.countMax / ENTRIES_PER_TEST;
  }

  async next(left: number): Promise<readonly StoredEvent[] | undefined> {
    if (this.#plan.kind === 'nothing') return undefined;
    const slice = new Slice(left, this.#options.pace);
    while (!slice.full) {
      const entry = this.#entries[this.#next];
      if (entry !== undefined) {
        const event = this.#reader.eventOf(entry);
        if (this.#test !== undefined && !this.#test(event)) slice.pass();
        else if (!slice.add(event)) break;
        this.#next++;
      } else if (!(await this.#refill())) return slice.events.length === 0 ? undefined : slice.events;
    }
    return slice.events;
  }

  async #refill(): Promise<boolean> {
    this.#testsLeft -= this.#entries.length;
    const last = this.#entries.at(-1);
    if (this.#testsLeft <= 0 && last !== undefined && this.#source instanceof TimeScan) this.#changeOver(last);
    const entries = await this.#source.next();
    this.#entries = entries ?? [];
    this.#next = 0;
    return entries !== undefined;
  }

  #changeOver(after: TimePlace | undefined, plan?: Plan): void {
    this.#source = new SortedHits(this.#reader, { ...this.#options, after, plan });
    if (this.#plan.kind === 'hits' && this.#plan.exact) this.#test = undefined;
  }
}
