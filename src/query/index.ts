/**
 * #query: answers from what is applied: which events, in which order, at which revision.
 *
 * For: events by selector, revision range and effective time; the log itself; names of streams, subjects and event
 * types; single events and transactions; following a database; and framing events for the wire. Every answer comes in
 * slices that the reader pulls.
 *
 * Not here: which revision a read runs at and the waiting for it (#service), what the rows look like (#database),
 * whether the reader is still there (it pulls, or it does not). Nothing here writes.
 *
 * Invariants:
 *   Q1  A read at a revision has one answer: the same events in the same order, however it is sliced or paged, and
 *       whatever is written meanwhile. A page that goes on after the last event of the one before completes it.
 *   Q2  A walk over a list needs no read view: it sees each entry up to its revision once, and none above it.
 *   Q3  The memory of a walk has a bound that depends neither on the size of the database nor on the answer.
 *   Q4  The work of a read grows with what it returns and with the least of what its ways walk, the lists that its
 *       selector names or the range that it asks about, times a small number; docs/http.md says what by kind of read.
 *   Q5  Between two slices nothing of the store is held: a slow reader hinders nobody.
 *   Q6  A walk over the log reads each page once, and a page that is missing is an error, never a shorter answer.
 *   Q7  A tail delivers every selected event once, in the order of position, wherever it was left and taken up again.
 *   Q8  A slice is bounded in bytes, in events and in the work behind it. An event or page that alone is more waits,
 *       and is not held meanwhile, until its reader has room for it.
 *   Q9  A framed event decodes to the stored one and the server's fields; its stored bytes are copied, never decoded.
 */
export {
  componentBytes,
  type DatabaseFacts,
  type DatabaseSource,
  type Definitions,
  eventsOf,
  isCorruptRecord,
  isFaultOfRow,
  type KeptRefusal,
  lastDefinition,
  PageCache,
  ReadDefinitions,
  type StoredEvent,
  type StoredTransaction,
} from '#database';
export { Slice } from './event-chunks.ts';
export { effectiveTimeOf } from './event-test.ts';
export { EventFrames, type FrameOptions, type Framing } from './frame.ts';
export { type ListedName, type Listing, listEventTypes, listStreams, listSubjects } from './listings.ts';
export {
  databaseAtRevision,
  eventAt,
  eventById,
  refusalById,
  revisionAtTimestamp,
  transactionAt,
  transactionById,
} from './lookups.ts';
export { EventOrdinals } from './ordinals.ts';
export { PassingEvent } from './passing-event.ts';
export { queryEvents, visitEvents } from './query-events.ts';
export { type LogScan, type LogSlice, scanLogBatches, scanLogEvents } from './scan-log.ts';
export { pulled, type SlicePace } from './slice-pace.ts';
export { EventTail } from './tail.ts';
