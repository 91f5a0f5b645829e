/**
 * `cairn.v1.LoggedTransaction`: a transaction's record in the log of its database, as it is stored in pages and sent by
 * ScanLogBatches. A page is such records in a row, each as field 1 of `LogBatch`.
 *
 * ```
 * 08 revision | 12 20 chain_hash (32 bytes) | 1A stored_ids* | 20 total_event_count | 7A body
 * ```
 */
import {
  assert,
  ByteWriter,
  beginMessage,
  decodeUtf8,
  ProtoReader,
  writeBytesField,
  writeTextField,
  writeVarintField,
} from '#base';
import { readTransactionBody, type TransactionBodyView } from './transaction-body.ts';

const CHAIN_HASH_BYTES = 32;
const REVISION_TAG = 0x08;
const CHAIN_HASH_TAG = 0x12;
const STORED_IDS_TAG = 0x1a;
const TOTAL_TAG = 0x20;
const BODY_TAG = 0x7a;
const TRANSACTIONS_TAG = 0x0a;

/** An id that was stored differently from how the client wrote it. */
export interface StoredEventId {
  /** Place of the event in its transaction. */
  readonly index: number;
  readonly id: string;
}

export interface LoggedTransaction {
  readonly revision: number;
  /** 32 bytes. */
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredEventId[];
  /** Events in revisions 1 to `revision`. */
  readonly totalEventCount: number;
  /** Bytes of the TransactionBody. */
  readonly body: Uint8Array;
}

/** Where everything is in a record; offsets into the bytes of the body view. */
export interface LoggedTransactionView {
  readonly revision: number;
  readonly chainHashStart: number;
  readonly storedIds: readonly StoredEventId[];
  readonly totalEventCount: number;
  readonly body: TransactionBodyView;
}

/** The message alone, without the tag that makes it part of a LogBatch. */
export function encodeLoggedTransaction(record: LoggedTransaction): Uint8Array {
  const writer = new ByteWriter(record.body.length + 128);
  writeLoggedTransaction(writer, record);
  return writer.take();
}

/** As one element of a LogBatch. Returns where the body begins in the writer. */
export function appendToLogBatch(writer: ByteWriter, record: LoggedTransaction): number {
  const message = encodeLoggedTransaction(record);
  writeBytesField(writer, 1, message);
  return writer.length - record.body.length;
}

function writeLoggedTransaction(writer: ByteWriter, record: LoggedTransaction): void {
  assert(record.chainHash.length === CHAIN_HASH_BYTES, 'A chain hash has 32 bytes', record.chainHash.length);
  assert(record.revision > 0 && record.totalEventCount > 0, 'A logged transaction has a revision and events');
  writeVarintField(writer, 1, record.revision);
  writeBytesField(writer, 2, record.chainHash);
  for (const { index, id } of record.storedIds) {
    const mark = beginMessage(writer, 3);
    if (index !== 0) writeVarintField(writer, 1, index);
    writeTextField(writer, 2, id);
    writer.endLength(mark);
  }
  writeVarintField(writer, 4, record.totalEventCount);
  writeBytesField(writer, 15, record.body);
}

/** Reads a record that `encodeLoggedTransaction` wrote; anything else is our own data, broken. */
export function readLoggedTransaction(bytes: Uint8Array, from: number, to: number): LoggedTransactionView {
  const reader = new ProtoReader(bytes, from, to);
  let revision = 0;
  let chainHashStart = -1;
  let totalEventCount = 0;
  let body: TransactionBodyView | undefined;
  const storedIds: StoredEventId[] = [];
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === REVISION_TAG) revision = reader.varint();
    else if (tag === CHAIN_HASH_TAG) chainHashStart = reader.lengthDelimited();
    else if (tag === STORED_IDS_TAG) storedIds.push(readStoredId(reader));
    else if (tag === TOTAL_TAG) totalEventCount = reader.varint();
    else if (tag === BODY_TAG) {
      const start = reader.lengthDelimited();
      body = readTransactionBody(bytes, start, reader.at);
    } else reader.fail();
  }
  assert(!reader.failed && chainHashStart !== -1, 'A logged transaction holds known fields only', {
    revision,
    from,
    to,
  });
  assert(body !== undefined && revision > 0, 'A logged transaction has a revision and a body', { revision, from, to });
  return { revision, chainHashStart, storedIds, totalEventCount, body };
}

/** Half-open ranges of the records in a LogBatch. */
export function recordsOfLogBatch(bytes: Uint8Array, from: number, to: number): readonly (readonly [number, number])[] {
  const reader = new ProtoReader(bytes, from, to);
  const ranges: (readonly [number, number])[] = [];
  while (!reader.done) {
    if (reader.tag() !== TRANSACTIONS_TAG) reader.fail();
    const start = reader.lengthDelimited();
    ranges.push([start, reader.at]);
  }
  assert(!reader.failed, 'A page is logged transactions and nothing else', [from, to]);
  return ranges;
}

function readStoredId(reader: ProtoReader): StoredEventId {
  const start = reader.lengthDelimited();
  const message = new ProtoReader(reader.bytes, start, reader.at);
  let index = 0;
  let id: string | undefined;
  while (!message.done) {
    const tag = message.tag();
    if (tag === 0x08) index = message.varint();
    else if (tag === 0x12) {
      const idStart = message.lengthDelimited();
      id = decodeUtf8(message.bytes, idStart, message.at);
    } else message.fail();
  }
  assert(!message.failed && id !== undefined, 'A stored id holds an index and an id', start);
  return { index, id };
}
