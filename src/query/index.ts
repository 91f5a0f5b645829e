/**
 * #query: reads of applied data: which events, in which order, at which revision.
 *
 * For: events by selector, revision range and effective time; the log itself; names of streams, subjects and event
 * types; single events and transactions; following a database; and framing events for the wire. Readers pull every
 * answer in slices.
 *
 * Not here: choosing and awaiting the revision of a read (#service), the format of the rows (#database), and whether
 * the reader is still connected. Nothing here writes.
 *
 * Invariants:
 *   Q1  A read at a revision has one answer: the same events in the same order, in any slices or pages and under
 *       concurrent writes. A page that continues after the last event of the previous one completes it.
 *   Q2  A walk over a list needs no read view: it returns each entry up to its revision once, and none above it.
 *   Q3  The memory of a walk has a bound that depends neither on the size of the database nor on the answer.
 *   Q4  The work of a read grows with its result and with the cheapest of its ways, the lists that its selector names
 *       or the range that it covers, times a small number; docs/http.md gives it by kind of read.
 *   Q5  Between two slices no resource of the store is held: a slow reader blocks no other.
 *   Q6  A walk over the log reads each byte once, and a missing record is an error, never a shorter answer.
 *   Q7  A tail delivers every selected event once, in the order of position, across any interruption.
 *   Q8  A slice is bounded in bytes, in events and in work. A larger single event or transaction waits, and is not held
 *       in the meantime, until its reader has room for it.
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
  ReadDefinitions,
  type StoredEvent,
  type StoredTransaction,
} from '#database';
export { pulled, Slice, type SlicePace } from './event-chunks.ts';
export { effectiveTimeOf } from './event-predicates.ts';
export { EventFrames, type FrameOptions, type Framing, frameTransactions } from './frame.ts';
export { type ListedName, type Listing, listEventTypes, listStreams, listSubjects } from './listings.ts';
export {
  databaseAtRevision,
  eventById,
  refusalById,
  revisionAtTimestamp,
  transactionAt,
  transactionById,
} from './lookups.ts';
export { EventOrdinals } from './ordinals.ts';
export { PassingEvent } from './passing-event.ts';
export { queryEvents, visitEvents } from './query-events.ts';
export { type LogScan, scanLogBatches, scanLogEvents } from './scan-log.ts';
export { EventTail } from './tail.ts';
