/**
 * The records of a history. One transaction is a record around a proto `LoggedTransaction`, whose body is copied as it
 * came; #model reads that message back.
 *
 * ```
 * record   := u8 kind = 1, varint length, content
 * content  := varint log index, varint term, LoggedTransaction
 * ```
 */
import {
  ByteReader,
  type ByteWriter,
  encodeUtf8,
  isLogIndex,
  isTerm,
  type LogIndex,
  type Term,
  toLogIndex,
  toTerm,
  varintLength,
} from '#base';
import {
  type LoggedHead,
  type LoggedTransactionView,
  readLoggedHead,
  readLoggedTransaction,
  type StoredEventId,
} from '#model';
import { HASH_BYTES } from './applied-state.ts';

/** A transaction; other kinds are unknown to this release. */
export const TRANSACTION_RECORD = 1;
/** Every record is longer: a chain hash of 32 bytes, a body with a time, an id and an event. */
export const RECORD_BYTES_MIN = 64;

const TAG = { REVISION: 0x08, CHAIN_HASH: 0x12, STORED_ID: 0x1a, TOTAL_EVENTS: 0x20, BODY: 0x7a } as const;
const STORED_ID_TAG = { INDEX: 0x08, ID: 0x12 } as const;

/** A place in the log. */
export interface LogPlace {
  readonly index: LogIndex;
  readonly term: Term;
}

/** A transaction to write. */
export interface RecordToWrite {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredEventId[];
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
  readonly body: Uint8Array;
  /** Position of its entry in the log. */
  readonly place: LogPlace;
}

/** A transaction as it is stored, without its events. */
export interface TransactionHead {
  readonly revision: number;
  readonly recordedTimeMs: number;
  /** Valid like the bytes that it was read from. */
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredEventId[];
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
  readonly place: LogPlace;
  /** Of its `LoggedTransaction` in the history. */
  readonly position: number;
  /** Position behind its record. */
  readonly end: number;
}

/** A transaction as it is stored. */
export interface StoredTransaction extends TransactionHead {
  readonly eventCount: number;
  /** The `LoggedTransaction`, whose first byte is at `position`: a view of what was read. */
  readonly bytes: Uint8Array;
  /** Offsets are in `bytes`. */
  readonly view: LoggedTransactionView;
}

/** Where a record is: its `LoggedTransaction` is `bytes[from, to)`. */
interface RecordFrame {
  readonly bytes: Uint8Array;
  readonly place: LogPlace;
  readonly from: number;
  readonly to: number;
  /** Position of `bytes[0]` in the history. */
  readonly base: number;
}

/** Appends a record; returns the offset of the body in `into`. `scratch` is overwritten. */
export function writeRecord(into: ByteWriter, scratch: ByteWriter, record: RecordToWrite): number {
  scratch.reset();
  scratch.varint(record.place.index);
  scratch.varint(record.place.term);
  writeLoggedHead(scratch, record);
  into.u8(TRANSACTION_RECORD);
  into.varint(scratch.length + record.body.length);
  into.bytes(scratch.view());
  const offset = into.length;
  into.bytes(record.body);
  return offset;
}

/** Bytes of the record that begins at `at`; undefined when the bytes end before that is said. */
export function recordLength(bytes: Uint8Array, at: number): number | undefined {
  const reader = new ByteReader(bytes, at + 1);
  const length = reader.varint();
  return reader.failed ? undefined : reader.at - at + length;
}

/** The head of the record at `at`. Undefined when the bytes end in it; as text: why there is none. */
export function readRecordHead(bytes: Uint8Array, at: number, base: number): TransactionHead | string | undefined {
  const frame = readFrame(bytes, at, base);
  if (frame === undefined || typeof frame === 'string') return frame;
  const head = readLoggedHead(bytes, frame.from, Math.min(frame.to, bytes.length));
  if (head !== undefined) return headOf(frame, head);
  return frame.to <= bytes.length ? 'it holds no logged transaction' : undefined;
}

/** The whole record at `at`. Undefined when the bytes end in it; as text: why there is none. */
export function readRecord(bytes: Uint8Array, at: number, base: number): StoredTransaction | string | undefined {
  const frame = readFrame(bytes, at, base);
  if (frame === undefined || typeof frame === 'string') return frame;
  if (frame.to > bytes.length) return undefined;
  const head = readLoggedHead(bytes, frame.from, frame.to);
  if (head === undefined) return 'it holds no logged transaction';
  return readBody(headOf(frame, head), bytes.subarray(frame.from, frame.to));
}

/** The transaction of a head; `bytes` are its `LoggedTransaction`. */
export function readBody(head: TransactionHead, bytes: Uint8Array): StoredTransaction {
  const view = readLoggedTransaction(bytes, 0, bytes.length);
  return { ...head, eventCount: view.body.eventStarts.length, bytes, view };
}

function readFrame(bytes: Uint8Array, at: number, base: number): RecordFrame | string | undefined {
  const kind = bytes[at];
  if (kind !== undefined && kind !== TRANSACTION_RECORD) {
    return `kind ${kind} is unknown here, ${TRANSACTION_RECORD} would be known`;
  }
  const reader = new ByteReader(bytes, at + 1);
  const length = reader.varint();
  const to = reader.at + length;
  const [index, term] = [reader.varint(), reader.varint()];
  if (reader.failed) return undefined;
  if (!isLogIndex(index) || !isTerm(term)) return `log index ${index} of term ${term} is none`;
  return { bytes, place: { index: toLogIndex(index), term: toTerm(term) }, from: reader.at, to, base };
}

function headOf({ bytes, place, from, to, base }: RecordFrame, head: LoggedHead): TransactionHead {
  const { revision, recordedTimeMs, storedIds, totalEventCount: totalEvents } = head;
  const chainHash = bytes.subarray(head.chainHashStart, head.chainHashStart + HASH_BYTES);
  const [position, end] = [base + from, base + to];
  return { revision, recordedTimeMs, chainHash, storedIds, totalEvents, place, position, end };
}

/** Writes a logged transaction up to its body, the body's tag and length included. */
function writeLoggedHead(into: ByteWriter, { body, ...head }: RecordToWrite): void {
  into.u8(TAG.REVISION);
  into.varint(head.revision);
  into.u8(TAG.CHAIN_HASH);
  into.u8(HASH_BYTES);
  into.bytes(head.chainHash);
  for (const stored of head.storedIds) writeStoredId(into, stored);
  into.u8(TAG.TOTAL_EVENTS);
  into.varint(head.totalEvents);
  into.u8(TAG.BODY);
  into.varint(body.length);
}

function writeStoredId(into: ByteWriter, stored: StoredEventId): void {
  const id = encodeUtf8(stored.id);
  const indexBytes = stored.index === 0 ? 0 : 1 + varintLength(stored.index);
  into.u8(TAG.STORED_ID);
  into.varint(indexBytes + 1 + varintLength(id.length) + id.length);
  if (stored.index !== 0) {
    into.u8(STORED_ID_TAG.INDEX);
    into.varint(stored.index);
  }
  into.u8(STORED_ID_TAG.ID);
  into.varint(id.length);
  into.bytes(id);
}
