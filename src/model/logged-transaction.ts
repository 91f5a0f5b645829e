/**
 * `cairn.v1.LoggedTransaction`, read in place: the record of a transaction in the log of its database, as #database
 * stores it in a history and ScanLogBatches sends it.
 *
 * ```
 * 08 revision | 12 20 chain_hash (32 bytes) | 1A stored_ids* | 20 total_event_count | 7A body
 * ```
 */
import { assert, decodeUtf8, ProtoReader } from '#base';
import { readTransactionBody, type TransactionBodyView } from './transaction-body.ts';

const REVISION_TAG = 0x08;
const CHAIN_HASH_TAG = 0x12;
const STORED_IDS_TAG = 0x1a;
const TOTAL_TAG = 0x20;
const BODY_TAG = 0x7a;
/** The first field of a body. */
const RECORDED_TIME_TAG = 0x09;

/** An event id that was stored differently from the client's. */
export interface StoredEventId {
  /** Index of the event in its transaction. */
  readonly index: number;
  readonly id: string;
}

/** A record up to its events. Offsets are in the bytes that were read. */
export interface LoggedHead {
  readonly revision: number;
  readonly chainHashStart: number;
  readonly storedIds: readonly StoredEventId[];
  readonly totalEventCount: number;
  readonly recordedTimeMs: number;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

export interface LoggedTransactionView extends LoggedHead {
  readonly body: TransactionBodyView;
}

/** Reads a stored record; other bytes are a corruption of stored data. */
export function readLoggedTransaction(bytes: Uint8Array, from: number, to: number): LoggedTransactionView {
  const head = readLoggedHead(bytes, from, to);
  assert(head !== undefined && head.bodyEnd === to, 'A logged transaction holds known fields and ends with its body', {
    from,
    to,
  });
  return { ...head, body: readTransactionBody(bytes, head.bodyStart, head.bodyEnd) };
}

/**
 * Reads a stored record up to its events, which may begin after `to`. Undefined when `to` is before them, or when it
 * is no stored record.
 */
export function readLoggedHead(bytes: Uint8Array, from: number, to: number): LoggedHead | undefined {
  const reader = new ProtoReader(bytes, from, to);
  let revision = 0;
  let chainHashStart = -1;
  let totalEventCount = 0;
  const storedIds: StoredEventId[] = [];
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === REVISION_TAG) revision = reader.varint();
    else if (tag === CHAIN_HASH_TAG) chainHashStart = reader.lengthDelimited();
    else if (tag === STORED_IDS_TAG) readStoredId(reader, storedIds);
    else if (tag === TOTAL_TAG) totalEventCount = reader.varint();
    else if (tag === BODY_TAG) {
      const bodyLength = reader.varint();
      const bodyStart = reader.at;
      if (reader.tag() !== RECORDED_TIME_TAG) return undefined;
      const recordedTimeMs = reader.fixed64();
      if (reader.failed || revision === 0 || chainHashStart === -1) return undefined;
      const bodyEnd = bodyStart + bodyLength;
      return { revision, chainHashStart, storedIds, totalEventCount, recordedTimeMs, bodyStart, bodyEnd };
    } else reader.fail();
  }
  return undefined;
}

function readStoredId(reader: ProtoReader, into: StoredEventId[]): void {
  const start = reader.lengthDelimited();
  if (reader.failed) return;
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
  into.push({ index, id });
}
