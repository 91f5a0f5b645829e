/**
 * How far a history was synced, with the checksum of the data of its last block up to there: a row of the store for
 * each history (docs/formats/segments.md). With it a torn last block can be told from a damaged one.
 */
import { DatabaseError, type GroupId, toGroupId, toHex } from '#base';
import { KeyWriter, readU32 } from '#kv';
import { checksum } from '../basis/checksum.ts';
import { readU64, viewOf, writeU64 } from '../basis/little-endian.ts';

export interface SyncedTail {
  readonly end: number;
  readonly crc: number;
}

/** First byte of the keys: the rows belong to the store itself, neither to the node nor to a group. */
const PREFIX = 0x02;
const FORMAT = 1;
const END_AT = 1;
const CRC_AT = 9;
const OWN_CRC_AT = 13;
const BYTES = 17;

/** Nothing of the history was synced. */
export const NOTHING_SYNCED: SyncedTail = { end: 0, crc: 0 };

export function tailKey(group: GroupId): Uint8Array {
  return new KeyWriter().u8(PREFIX).u32(group).key();
}

/** All of these rows. */
export const TAILS: { readonly gte: Uint8Array; readonly lt: Uint8Array } = {
  gte: Uint8Array.of(PREFIX),
  lt: Uint8Array.of(PREFIX + 1),
};

export function groupOfTail(key: Uint8Array): GroupId {
  return toGroupId(readU32(key, 1));
}

export function encodeTail({ end, crc }: SyncedTail): Uint8Array {
  const bytes = new Uint8Array(BYTES);
  const view = viewOf(bytes);
  bytes[0] = FORMAT;
  writeU64(view, END_AT, end);
  view.setUint32(CRC_AT, crc, true);
  view.setUint32(OWN_CRC_AT, checksum(bytes, 0, OWN_CRC_AT), true);
  return bytes;
}

/** @throws DatabaseError when the row is damaged */
export function decodeTail(group: GroupId, bytes: Uint8Array | undefined): SyncedTail {
  if (bytes === undefined) return NOTHING_SYNCED;
  const view = viewOf(bytes);
  const isWhole = bytes.length === BYTES && view.getUint32(OWN_CRC_AT, true) === checksum(bytes, 0, OWN_CRC_AT);
  if (isWhole && bytes[0] === FORMAT) return { end: readU64(view, END_AT), crc: view.getUint32(CRC_AT, true) };
  const fault = isWhole ? `format ${bytes[0]} is unknown here` : 'its checksum does not match';
  const message = `The row with key ${toHex(tailKey(group))} is corrupt: ${fault}`;
  throw new DatabaseError('internal', message, { details: { reason: 'CorruptRecord' } });
}
