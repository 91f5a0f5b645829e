/**
 * `cairn.v1.LoggedTransaction`, read in place: the record of a transaction in the log of its database, as #database
 * stores it in pages and ScanLogBatches sends it.
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

/** An event id that was stored differently from the client's. */
export interface StoredEventId {
  /** Index of the event in its transaction. */
  readonly index: number;
  readonly id: string;
}

/** Offsets in the bytes of the body view. */
export interface LoggedTransactionView {
  readonly revision: number;
  readonly chainHashStart: number;
  readonly storedIds: readonly StoredEventId[];
  readonly totalEventCount: number;
  readonly body: TransactionBodyView;
}

/** Reads a stored record; other bytes are a corruption of stored data. */
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
