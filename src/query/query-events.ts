/** The events of a query, in its order, slice by slice. (Q1) */
import { assert } from '#base';
import { DatabaseReader, type DatabaseSource, type StoredEvent } from '#database';
import type { EventQuery } from '#model';
import { boundsOf, isEmpty } from './bounds.ts';
import type { EventChunks } from './event-chunks.ts';
import { pulled, type SlicePace } from './event-chunks.ts';
import { testOf } from './event-predicates.ts';
import { HistoryEvents } from './history-events.ts';
import { HitEvents } from './hit-events.ts';
import { type EventVisitor, PassingEvent } from './passing-event.ts';
import { planSelector } from './plan.ts';
import { timeEvents } from './time-events.ts';

/** The part of `AbortSignal` that is used here; the pure layers do not know that type. */
export interface Cancellation {
  readonly aborted: boolean;
}

export interface EventRead {
  /** The revision of the read. It must be applied before. */
  readonly at: number;
  readonly query: EventQuery;
  /** Checked between two slices: after an abort the events end, without an error. */
  readonly signal?: Cancellation | undefined;
  /** Time and size of the next slice. Default: when it is pulled, 256 KiB. */
  readonly pace?: SlicePace | undefined;
  /** True: the events of a slice are valid until the next slice is pulled. Default false: as long as referenced. */
  readonly lent?: boolean | undefined;
}

/**
 * The answer in slices. A slice may be empty when a search took long without a match: yield to the event loop after
 * each slice to keep the process responsive. Leaving the loop early releases everything.
 */
export function queryEvents(source: DatabaseSource, read: EventRead): AsyncGenerator<readonly StoredEvent[]> {
  const reader = new DatabaseReader(source, { lends: read.lent });
  return slicesOf(reader, { ...read, limit: read.query.limit }, (pace) => chunksOf(reader, read, pace));
}

/**
 * The same events, forward, each passed to the visitor in place; yields their number after each slice, and releases its
 * memory when the next one is pulled. A walk over the history itself makes no objects. (Q1, Q5)
 */
export function visitEvents(
  source: DatabaseSource,
  read: Omit<EventRead, 'lent'>,
  visitor: EventVisitor,
): AsyncGenerator<number> {
  assert(read.query.direction === 'forward', 'Events are visited in their order', read.query.direction);
  const reader = new DatabaseReader(source, { lends: true });
  return slicesOf(reader, { ...read, limit: read.query.limit }, async (pace) => {
    const chunks = await chunksOf(reader, read, pace);
    return { next: (left) => visitNext(chunks, left, visitor) };
  });
}

export interface SlicedRead {
  readonly limit?: number | undefined;
  readonly signal?: Cancellation | undefined;
  readonly pace?: SlicePace | undefined;
}

/** Slices, or numbers of items of slices, of which a read has at most `left` more. */
interface Slices<Slice> extends Pick<EventChunks, 'isOver'> {
  next(left: number): Promise<Slice | undefined>;
}

/** Slices, each read when it is pulled and released when the next one is, until the limit, an abort or the end. */
export async function* slicesOf<Slice extends number | readonly unknown[]>(
  reader: DatabaseReader,
  { limit = Number.POSITIVE_INFINITY, signal, pace = pulled() }: SlicedRead,
  open: (pace: SlicePace) => Promise<Slices<Slice>>,
): AsyncGenerator<Slice> {
  try {
    const slices = await open(pace);
    for (let left = limit; left > 0; ) {
      if (signal?.aborted === true) return;
      await pace.ready();
      const slice = await slices.next(left);
      if (slice === undefined) return;
      left -= typeof slice === 'number' ? slice : slice.length;
      yield slice;
      reader.release();
      if (slices.isOver === true) return;
    }
  } finally {
    reader.release();
    pace.rest();
  }
}

async function visitNext(chunks: EventChunks, left: number, visitor: EventVisitor): Promise<number | undefined> {
  if (chunks.visit !== undefined) return chunks.visit(left, visitor);
  const events = await chunks.next(left);
  const passing = new PassingEvent();
  for (const event of events ?? []) {
    passing.setTo(event);
    visitor(passing);
  }
  return events?.length;
}

async function chunksOf(reader: DatabaseReader, read: EventRead, pace: SlicePace): Promise<EventChunks> {
  const { at, query } = read;
  const { selector, revisions, effectiveTime, direction, after } = query;
  if (effectiveTime !== undefined) {
    const bounds = boundsOf({ at, revisions, direction: 'forward' });
    if (isEmpty(bounds)) return NOTHING;
    const inTime = await timeEvents(reader, { at, selector, bounds, times: effectiveTime, direction, after, pace });
    return inTime ?? NOTHING;
  }
  const bounds = boundsOf({ at, revisions, direction, after });
  if (isEmpty(bounds)) return NOTHING;
  const plan = await planSelector(reader, selector, bounds);
  if (plan.kind === 'nothing') return NOTHING;
  if (plan.kind === 'history') return new HistoryEvents(reader, { selector, bounds, pace });
  return new HitEvents(reader, { hits: plan.hits, test: plan.exact ? undefined : testOf(selector), pace });
}

const NOTHING: EventChunks = { next: () => Promise.resolve(undefined) };
