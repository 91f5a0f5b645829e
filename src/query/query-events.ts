/** The events of a query, in its order, slice by slice. (Q1) */
import { assert } from '#base';
import { DatabaseReader, type DatabaseSource, type StoredEvent } from '#database';
import type { EventQuery } from '#model';
import { boundsOf, isEmpty } from './bounds.ts';
import type { EventChunks } from './event-chunks.ts';
import { testOf } from './event-test.ts';
import { hitEvents } from './hit-events.ts';
import { pageEvents } from './page-events.ts';
import { type EventVisitor, PassingEvent } from './passing-event.ts';
import { planSelector } from './plan.ts';
import { pulled, type SlicePace } from './slice-pace.ts';
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
export async function* queryEvents(source: DatabaseSource, read: EventRead): AsyncGenerator<readonly StoredEvent[]> {
  const { pace = pulled() } = read;
  const reader = new DatabaseReader(source, { lends: read.lent });
  try {
    const chunks = await chunksOf(reader, read, pace);
    let left = read.query.limit ?? Number.POSITIVE_INFINITY;
    while (left > 0 && read.signal?.aborted !== true) {
      await pace.ready();
      const events = await chunks.next(left);
      if (events === undefined) return;
      left -= events.length;
      yield events;
      reader.releasePages();
      if (chunks.isOver === true) return;
    }
  } finally {
    reader.releasePages();
    pace.rest();
  }
}

/**
 * The same events, forward, each passed to the visitor in place; yields after each slice, and releases its memory when
 * the next one is pulled. A walk over the log itself makes no objects. (Q1, Q5)
 */
export async function* visitEvents(
  source: DatabaseSource,
  read: Omit<EventRead, 'lent'>,
  visitor: EventVisitor,
): AsyncGenerator<undefined, undefined> {
  assert(read.query.direction === 'forward', 'Events are visited in their order', read.query.direction);
  const { pace = pulled() } = read;
  const reader = new DatabaseReader(source, { lends: true });
  try {
    const chunks = await chunksOf(reader, read, pace);
    let left = read.query.limit ?? Number.POSITIVE_INFINITY;
    while (left > 0 && read.signal?.aborted !== true) {
      await pace.ready();
      const count = await visitNext(chunks, left, visitor);
      if (count === undefined) return;
      left -= count;
      yield;
      reader.releasePages();
      if (chunks.isOver === true) return;
    }
  } finally {
    reader.releasePages();
    pace.rest();
  }
}

async function visitNext(chunks: EventChunks, left: number, visitor: EventVisitor): Promise<number | undefined> {
  if (chunks.visit !== undefined) return chunks.visit(left, visitor);
  const events = await chunks.next(left);
  const passing = new PassingEvent();
  for (const event of events ?? []) {
    passing.stored(event);
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
  if (plan.kind === 'pages') return pageEvents(reader, { selector, bounds, pace });
  return hitEvents(reader, { hits: plan.hits, test: plan.exact ? undefined : testOf(selector), pace });
}

const NOTHING: EventChunks = { next: () => Promise.resolve(undefined) };
