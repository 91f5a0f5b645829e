/**
 * Whether every row has the content that was written: each has a checksum of its own, which a compaction of LevelDB
 * copies with the row. So damage that a compaction has given right checksums of blocks is found by these alone.
 */
import { ByteReader, crc32 } from '#base';
import type { KvReader } from '#kv';
import { corruptRecord } from './corruption.ts';
import { GROUP_ROWS } from './keys.ts';
import { slices } from './walks.ts';

const CRC_BYTES = 4;

/**
 * Reads every row of a store, those of the node included.
 * @throws DatabaseError, reason `CorruptRecord`, for the first that is damaged.
 */
export async function verifyStoredRows(kv: KvReader): Promise<void> {
  const range = kv.range({ gte: Uint8Array.of(0), lt: Uint8Array.of(GROUP_ROWS + 1), fillCache: false });
  for await (const rows of slices(range)) for (const { key, value } of rows) verifyRow(key, value);
}

function verifyRow(key: Uint8Array, value: Uint8Array): void {
  const end = value.length - CRC_BYTES;
  if (end < 1) throw corruptRecord(key, `${value.length} bytes are too few for a format and a checksum`);
  const [stored, found] = [new ByteReader(value, end).u32le(), crc32(value, 0, end)];
  if (stored !== found) throw corruptRecord(key, `its checksum is ${stored}, its content gives ${found}`);
}
