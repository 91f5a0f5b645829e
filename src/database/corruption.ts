/**
 * Errors for rows of ours that are damaged, or that are not what a read looked for.
 *
 * Every value ends with a CRC-32, and every read verifies it (D1). In a database the CRC covers the key too, because a
 * damaged LevelDB may return a value under another key. A wrong CRC means that the row is damaged: the node stops.
 * A row that is missing, or has a right CRC and unexpected content, ends only the read that looked for it.
 */
import { ByteReader, type ByteWriter, crc32, DatabaseError, type GroupId, toGroupId, toHex } from '#base';
import { isHistoryDamage, type KvBatch, readU32 } from '#kv';
import { GROUP_PREFIX_BYTES, isOfDatabase } from './keys.ts';

const CRC_BYTES = 4;
const CORRUPT_RECORD = 'CorruptRecord';
const UNEXPECTED_ROW = 'UnexpectedRow';

/** The error for a row whose checksum fails: fatal to the node (`details.reason` is `CorruptRecord`). */
export function corruptRecord(key: Uint8Array, fault: string): DatabaseError {
  const message = `The row with key ${toHex(key)} is corrupt: ${fault}`;
  const of = isOfDatabase(key) ? { damaged: toGroupId(readU32(key, 1)) } : {};
  return new DatabaseError('internal', message, { details: { reason: CORRUPT_RECORD, ...of } });
}

/** The same for rows of a database that do not add up. */
export function corruptRows(group: GroupId, fault: string): DatabaseError {
  const message = `Rows of group ${group} are missing or damaged: ${fault}`;
  return new DatabaseError('internal', message, { details: { reason: CORRUPT_RECORD, damaged: group } });
}

/** The error for a row that is missing or has other content than was looked for. It ends the read and nothing else. */
export function unexpectedRow(key: Uint8Array, fault: string): DatabaseError {
  const message = `The row with key ${toHex(key)} is not what was looked for: ${fault}`;
  return new DatabaseError('internal', message, { details: { reason: UNEXPECTED_ROW } });
}

/** The error for a record of a history with other content than was looked for. It ends the read and nothing else. */
export function unexpectedRecord(group: GroupId, position: number, fault: string): DatabaseError {
  const message = `The record at ${position} of the history of group ${group} is not what was looked for: ${fault}`;
  return new DatabaseError('internal', message, { details: { reason: UNEXPECTED_ROW } });
}

export function isCorruptRecord(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.details.reason === CORRUPT_RECORD;
}

/** Returns whether a row or a record is corrupt, missing, or another than the expected one. */
export function isFaultOfRow(error: unknown): error is DatabaseError {
  if (isHistoryDamage(error)) return true;
  return isCorruptRecord(error) || (error instanceof DatabaseError && error.details.reason === UNEXPECTED_ROW);
}

/** Ends a value of the ledger with the checksum of everything before it, 4 bytes little-endian. */
export function sealRow(row: ByteWriter): void {
  row.u32le(row.checksum(crc32));
}

/** Ends a value of a database with the checksum of its key and of everything before it, and puts the row. */
export function putRow(batch: Pick<KvBatch, 'put'>, key: Uint8Array, row: ByteWriter): void {
  row.u32le(row.checksum(crc32, checksumOfKey(key)));
  batch.put(key, row.view());
}

/** Returns where the content of a value ends; throws when its checksum fails. */
export function verifyRow(key: Uint8Array, value: Uint8Array): number {
  const end = value.length - CRC_BYTES;
  if (end < 1) throw corruptRecord(key, `${value.length} bytes are too few for a format and a checksum`);
  const stored = new ByteReader(value, end).u32le();
  const found = crc32(value, 0, end, isOfDatabase(key) ? checksumOfKey(key) : 0);
  if (stored !== found) throw corruptRecord(key, `its checksum is ${stored}, its content gives ${found}`);
  return end;
}

/** Without the group: the rows of a recovered instance are those of its origin. */
function checksumOfKey(key: Uint8Array): number {
  return crc32(key, GROUP_PREFIX_BYTES);
}

/** A reader over the content of a sealed value, after its format byte; throws when its checksum fails. */
export function openRow(key: Uint8Array, value: Uint8Array, format: number): ByteReader {
  const end = verifyRow(key, value);
  if (value[0] !== format) throw unexpectedRow(key, `format ${value[0]} is unknown here, ${format} would be known`);
  return new ByteReader(value, 1, end);
}

/** Throws unless the reader has read exactly its whole row. */
export function closeRow(key: Uint8Array, reader: ByteReader): void {
  if (reader.failed) throw unexpectedRow(key, 'it ends inside a field');
  if (reader.left !== 0) throw unexpectedRow(key, `${reader.left} bytes follow its last field`);
}
