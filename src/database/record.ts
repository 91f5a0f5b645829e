/**
 * The records of a history (docs/formats/history.md). The record of a transaction contains a proto `LoggedTransaction`.
 * Its body is what the client sent, unchanged; #model parses it. The other kinds are control records: a
 * definition that changed something, and a refusal that is kept. They have no revision of their own, and clients never
 * receive them.
 *
 * ```
 * record   := u8 kind, varint length, varint log index, varint term, content
 * content  := LoggedTransaction                                              kind 1
 *           | varint revision, 32 bytes control hash, payload                kinds 2 and 3
 * ```
 */
import {
  ByteReader,
  type ByteWriter,
  encodeUtf8,
  isLogIndex,
  isRevision,
  isTerm,
  type LogIndex,
  NO_BYTES,
  type Revision,
  type Sha256,
  type Term,
  varintLength,
} from '#base';
import { RECORD } from '#kv';
import {
  isBlobPart,
  type LoggedHead,
  type LoggedTransactionView,
  readLoggedHead,
  readLoggedTransaction,
  type StoredEventId,
} from '#model';
import { HASH_BYTES } from './applied-state.ts';

/** A control record: everything but a transaction. */
export type ControlKind = typeof RECORD.DEFINITION | typeof RECORD.REFUSAL;

/** Every record is longer: it has a hash of 32 bytes, followed by more than a time or an id. */
export const RECORD_BYTES_MIN = 40;

/** No control record is longer, because an entry of the log has at most 2 MiB. */
export const CONTROL_BYTES_MAX: number = 4 * 2 ** 20;
/** Maximum of bytes before the payload of a control record, and in it before the bytes of a component part. */
const CONTROL_HEAD_BYTES = 128;
const NO_TRANSACTION = 'it holds no logged transaction';
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
  /** Position of its `LoggedTransaction` in the history. */
  readonly position: number;
  /** Position after its record. */
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

/** A definition or a refusal. Its hash covers all earlier control records, and the transactions before it. */
export interface ControlRecord {
  readonly kind: ControlKind;
  readonly place: LogPlace;
  /** Revision of the database when the record was written. */
  readonly revision: Revision;
  /** Valid like the bytes that it was read from. */
  readonly hash: Uint8Array;
  /** The entry of a definition, or a refusal (refusal-record.ts): a view of what was read. */
  readonly payload: Uint8Array;
  /** Position of the record in the history. */
  readonly position: number;
  /** Position after the record. */
  readonly end: number;
}

export type ControlToWrite = Omit<ControlRecord, 'position' | 'end'>;

export type StoredRecord = StoredTransaction | ControlRecord;

/** Where a record is: its content is `bytes[from, to)`. */
interface RecordFrame {
  readonly kind: number;
  readonly bytes: Uint8Array;
  readonly place: LogPlace;
  readonly from: number;
  readonly to: number;
  /** Position of the record, and that of `bytes[0]`, in the history. */
  readonly position: number;
  readonly base: number;
}

/** Appends a record; returns the offset of the body in `into`. `scratch` is overwritten. */
export function writeRecord(into: ByteWriter, scratch: ByteWriter, record: RecordToWrite): number {
  scratch.reset();
  scratch.varint(record.place.index);
  scratch.varint(record.place.term);
  writeLoggedHead(scratch, record);
  writeFramed(into, RECORD.TRANSACTION, scratch.view(), record.body);
  return into.length - record.body.length;
}

/** Appends a control record. `scratch` is overwritten. */
export function writeControl(into: ByteWriter, scratch: ByteWriter, record: ControlToWrite): void {
  scratch.reset();
  scratch.varint(record.place.index);
  scratch.varint(record.place.term);
  scratch.varint(record.revision);
  scratch.bytes(record.hash);
  writeFramed(into, record.kind, scratch.view(), record.payload);
}

function writeFramed(into: ByteWriter, kind: number, head: Uint8Array, rest: Uint8Array): void {
  into.u8(kind);
  into.varint(head.length + rest.length);
  into.bytes(head);
  into.bytes(rest);
}

export function isControl(record: StoredRecord): record is ControlRecord {
  return 'payload' in record;
}

/**
 * The hash of a control record: what it is, the hash of the one before, and the chain hash of the revision at which it
 * was written.
 */
export function controlHash(
  sha256: Sha256,
  before: { readonly chainHash: Uint8Array; readonly control: { readonly hash: Uint8Array } | undefined },
  { kind, payload }: Pick<ControlRecord, 'kind' | 'payload'>,
): Uint8Array {
  return sha256([before.chainHash, before.control?.hash ?? NO_BYTES, Uint8Array.of(kind), payload]);
}

/** Bytes of the record at `at`; undefined when the bytes end inside its length. */
export function recordLength(bytes: Uint8Array, at: number): number | undefined {
  const reader = new ByteReader(bytes, at + 1);
  const length = reader.varint();
  return reader.failed ? undefined : reader.at - at + length;
}

/** The same of a control record; 0 for others, and when the bytes end before. */
export function controlLength(bytes: Uint8Array, at: number): number {
  const kind = bytes[at];
  return kind === RECORD.DEFINITION || kind === RECORD.REFUSAL ? (recordLength(bytes, at) ?? 0) : 0;
}

/** The head of the record at `at`. Undefined when the bytes end in it; as text: why there is none. */
export function readRecordHead(bytes: Uint8Array, at: number, base: number): TransactionHead | string | undefined {
  const frame = readFrame(bytes, at, base);
  if (frame === undefined || typeof frame === 'string') return frame;
  if (frame.kind !== RECORD.TRANSACTION) return NO_TRANSACTION;
  const head = readLoggedHead(bytes, frame.from, Math.min(frame.to, bytes.length));
  if (head !== undefined) return headOf(frame, head);
  return frame.to <= bytes.length ? NO_TRANSACTION : undefined;
}

/** The whole record at `at`. Undefined when the bytes end in it; as text: why there is none. */
export function readRecord(bytes: Uint8Array, at: number, base: number): StoredRecord | string | undefined {
  const frame = readFrame(bytes, at, base);
  if (frame === undefined || typeof frame === 'string') return frame;
  if (frame.to > bytes.length) return undefined;
  return frame.kind === RECORD.TRANSACTION ? readLogged(frame) : readControl(frame);
}

/** The same for one that is to be a transaction. */
export function readTransaction(bytes: Uint8Array, at: number, base: number): StoredTransaction | string | undefined {
  const record = readRecord(bytes, at, base);
  return typeof record === 'object' && isControl(record) ? NO_TRANSACTION : record;
}

/**
 * The whole records that the bytes begin with. As text: why the first of them is none; undefined when the bytes end
 * in it.
 */
export function readRecords(bytes: Uint8Array, base: number): readonly StoredRecord[] | string | undefined {
  const records: StoredRecord[] = [];
  for (let at = 0; at < bytes.length; ) {
    const found = readRecord(bytes, at, base);
    if (typeof found !== 'object') return records.length > 0 ? records : found;
    records.push(found);
    at = found.end - base;
  }
  return records;
}

/** Where whole records end, and the place of the last of them in the log. */
export interface RecordsEnd {
  readonly end: number;
  readonly place: LogPlace;
}

/** The end of the records that `readRecords` would return, from their frames alone. */
export function skipRecords(bytes: Uint8Array, base: number): RecordsEnd | string | undefined {
  let last: RecordsEnd | undefined;
  for (let at = 0; at < bytes.length; ) {
    const frame = readFrame(bytes, at, base);
    if (typeof frame === 'string') return last ?? frame;
    if (frame === undefined || frame.to > bytes.length) return last;
    last = { end: base + frame.to, place: frame.place };
    at = frame.to;
  }
  return last;
}

/**
 * The control record at `at`, not necessarily with the bytes of the part of a component. Undefined when the bytes end
 * before; as text: why there is none.
 */
export function readControlHead(bytes: Uint8Array, at: number, base: number): ControlRecord | string | undefined {
  const frame = readFrame(bytes, at, base);
  if (frame === undefined || typeof frame === 'string') return frame;
  const isCut = frame.to > bytes.length;
  if (isCut && bytes.length < frame.from + CONTROL_HEAD_BYTES) return undefined;
  const record = readControl(frame);
  return isCut && typeof record === 'object' && !hasPart(record) ? undefined : record;
}

function hasPart({ kind, payload }: ControlRecord): boolean {
  return kind === RECORD.DEFINITION && isBlobPart(payload);
}

/** The transaction of a head; `bytes` are its `LoggedTransaction`. */
export function readBody(head: TransactionHead, bytes: Uint8Array): StoredTransaction {
  const view = readLoggedTransaction(bytes, 0, bytes.length);
  return { ...head, eventCount: view.body.eventStarts.length, bytes, view };
}

/** The place and the kind of the record at `at`. Undefined when the bytes end before; as text: why there is none. */
export function readFrame(bytes: Uint8Array, at: number, base: number): RecordFrame | string | undefined {
  const kind = bytes[at];
  if (kind === undefined) return undefined;
  if (kind < RECORD.TRANSACTION || kind > RECORD.REFUSAL) {
    return `kind ${kind} is unknown here, ${RECORD.TRANSACTION} to ${RECORD.REFUSAL} would be known`;
  }
  const reader = new ByteReader(bytes, at + 1);
  const length = reader.varint();
  const to = reader.at + length;
  const [index, term] = [reader.varint(), reader.varint()];
  if (reader.failed) return undefined;
  if (!isLogIndex(index) || !isTerm(term)) return `log index ${index} of term ${term} is none`;
  return { kind, bytes, place: { index, term }, from: reader.at, to, position: base + at, base };
}

function readLogged(frame: RecordFrame): StoredTransaction | string {
  const { bytes, from, to } = frame;
  const head = readLoggedHead(bytes, from, to);
  return head === undefined ? NO_TRANSACTION : readBody(headOf(frame, head), bytes.subarray(from, to));
}

function readControl({ kind, bytes, place, from, to, position, base }: RecordFrame): ControlRecord | string {
  if (kind !== RECORD.DEFINITION && kind !== RECORD.REFUSAL) return 'it is a transaction';
  const reader = new ByteReader(bytes, from, Math.min(to, bytes.length));
  const revision = reader.varint();
  const hash = reader.bytes(HASH_BYTES);
  const payload = reader.bytes(reader.left);
  if (reader.failed || !isRevision(revision)) return 'it is no control record';
  return { kind, place, revision, hash, payload, position, end: base + to };
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
