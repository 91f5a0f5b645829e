/**
 * The reply to Transact, written by hand into its frame: the ids of the events are copied from their bytes.
 *
 * ```
 * 08 revision | 12 transaction_id | 1A recorded_time | 20 event_count | 2A mapping* | 30 replayed | 3A database_id
 * 40 basis
 * ```
 */
import { ByteWriter, beginMessage, writeTextField, writeVarintField } from '#base';
import type { RecordedTransaction } from '#service';
import { writeEventIdMappings } from './event-id-mappings.ts';
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
  writeTime(transaction.recordedTimeMs);
  writeVarintField(writer, FIELD.EVENT_COUNT, transaction.events.length);
  writeEventIdMappings(writer, FIELD.MAPPING, transaction);
  if (transaction.replayed) writeVarintField(writer, FIELD.REPLAYED, 1);
  writeTextField(writer, FIELD.DATABASE_ID, transaction.databaseId);
  if (transaction.basis > 0) writeVarintField(writer, FIELD.BASIS, transaction.basis);
  const framed = writer.cut();
  writeFrameHeader(framed, 0, framed.length - FRAME_HEADER_BYTES);
  return framed;
}

function writeTime(unixMs: number): void {
  const seconds = Math.floor(unixMs / 1000);
  const nanos = (unixMs - seconds * 1000) * 1_000_000;
  const mark = beginMessage(writer, FIELD.RECORDED_TIME);
  if (seconds > 0) writeVarintField(writer, 1, seconds);
  if (nanos > 0) writeVarintField(writer, 2, nanos);
  writer.endLength(mark);
}
