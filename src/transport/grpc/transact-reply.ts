/**
 * Replies about transactions, written by hand into their frames: events are not decoded, their ids are copied from
 * their bytes.
 *
 * ```
 * TransactReply          08 revision | 12 transaction_id | 1A recorded_time | 20 event_count | 2A mapping* | 30 replayed
 *                        3A database_id | 40 basis
 * FetchTransactionReply  0A record | 10 basis | 1A mapping*
 * EventIdMapping         0A client_event_id | 12 stored_event_id
 * ```
 */
import {
  ByteWriter,
  beginMessage,
  instantFromMs,
  WIRE_BYTES,
  writeBytesField,
  writeTag,
  writeTextField,
  writeVarintField,
} from '#base';
import { writeTimestamp } from '#model';
import type { RecordedTransaction, TransactionDescription } from '#service';
import { FRAME_HEADER_BYTES, writeFrameHeader } from './wire/framing.ts';

const FIELD = {
  REVISION: 1,
  TRANSACTION_ID: 2,
  RECORDED_TIME: 3,
  EVENT_COUNT: 4,
  MAPPING: 5,
  REPLAYED: 6,
  DATABASE_ID: 7,
  BASIS: 8,
} as const;

/** Shared by all replies, each of which is copied out of it. */
const writer = new ByteWriter(4096);

/** The framed reply. */
export function encodeTransactReply(transaction: RecordedTransaction): Uint8Array {
  writer.reset();
  for (let at = 0; at < FRAME_HEADER_BYTES; at++) writer.u8(0);
  writeVarintField(writer, FIELD.REVISION, transaction.revision);
  writeTextField(writer, FIELD.TRANSACTION_ID, transaction.transactionId);
  writeTimestamp(writer, FIELD.RECORDED_TIME, instantFromMs(transaction.recordedTimeMs));
  writeVarintField(writer, FIELD.EVENT_COUNT, transaction.events.length);
  writeEventIdMappings(writer, FIELD.MAPPING, transaction);
  if (transaction.replayed) writeVarintField(writer, FIELD.REPLAYED, 1);
  writeTextField(writer, FIELD.DATABASE_ID, transaction.databaseId);
  if (transaction.basis > 0) writeVarintField(writer, FIELD.BASIS, transaction.basis);
  const framed = writer.cut();
  writeFrameHeader(framed, 0, framed.length - FRAME_HEADER_BYTES);
  return framed;
}

/** The framed reply. */
export function encodeFetched({ record, basis, events }: TransactionDescription): Uint8Array {
  const to = new ByteWriter(record.length + 256);
  for (let at = 0; at < FRAME_HEADER_BYTES; at++) to.u8(0);
  writeBytesField(to, 1, record);
  if (basis > 0) writeVarintField(to, 2, basis);
  writeEventIdMappings(to, 3, {
    events: events.map((event) => event.bytes),
    storedIds: events.flatMap(({ position, storedId }) =>
      storedId === undefined ? [] : [{ index: position.index, id: storedId }],
    ),
  });
  const framed = to.view();
  writeFrameHeader(framed, 0, framed.length - FRAME_HEADER_BYTES);
  return framed;
}

interface MappedEvents {
  /** In canonical wire form, so that each begins with its id: tag 0A, length, text. */
  readonly events: readonly Uint8Array[];
  /** Events that were stored under another id, ascending by index. */
  readonly storedIds: readonly { readonly index: number; readonly id: string }[];
}

const STORED_ID = 2;
const ID_LENGTH_AT = 1;

/** Writes one message for each event, in order, as elements of a repeated field. */
function writeEventIdMappings(to: ByteWriter, field: number, { events, storedIds }: MappedEvents): void {
  let renamedCount = 0;
  let index = -1;
  for (const event of events) {
    index++;
    const mapping = beginMessage(to, field);
    const idEnd = endOfId(event);
    // client_event_id is field 1 of the mapping as the id is of the event: the bytes are the same.
    to.slice(event, 0, idEnd);
    const renamed = storedIds[renamedCount];
    if (renamed?.index === index) {
      renamedCount++;
      writeTextField(to, STORED_ID, renamed.id);
    } else {
      writeTag(to, STORED_ID, WIRE_BYTES);
      to.slice(event, ID_LENGTH_AT, idEnd);
    }
    to.endLength(mapping);
  }
}

/** An id has 1 to 255 bytes, so its length takes one byte or two. */
function endOfId(event: Uint8Array): number {
  const low = event[ID_LENGTH_AT] ?? 0;
  if (low < 0x80) return ID_LENGTH_AT + 1 + low;
  return ID_LENGTH_AT + 2 + (low - 0x80) + (event[ID_LENGTH_AT + 1] ?? 0) * 0x80;
}
