/**
 * Adds every key that has a row in the store to the filter, slice by slice, after a restart.
 *
 * The writer adds new keys to the filter at once, so it is complete when the walk ends.
 */
import { ByteReader } from '#base';
import type { KeyFilter } from './key-filter.ts';
import { HASH_DOMAIN, KeyHash } from './key-hash.ts';
import { HEAD_KIND, headTerm, type KeyRange, TABLE, tableOfKey } from './keys.ts';
import { hashDomainOfHeads } from './live-heads.ts';
import type { DatabaseReader } from './reader.ts';
import { slices } from './walks.ts';

const KEY_PREFIX_BYTES = 6;
/** They take the thread about a millisecond; a wait for fewer costs as much as the keys. */
const KEYS_PER_WAIT = 1024;

export async function warmFilter(reader: DatabaseReader, filter: KeyFilter): Promise<void> {
  const { keys } = reader;
  const ranges: readonly KeyRange[] = [
    keys.tables(TABLE.TRANSACTION, TABLE.TRANSACTION + 1),
    keys.tables(HEAD_KIND.STREAM, HEAD_KIND.SUBJECT + 1),
    keys.tables(HEAD_KIND.SOURCE, HEAD_KIND.SOURCE + 1),
    keys.tables(TABLE.EVENT_ID, TABLE.EVENT_ID + 1),
  ];
  const hash = new KeyHash();
  for (const { gte, lt } of ranges) {
    for await (const rows of slices(reader.source.kv.range({ gte, lt, values: false }), KEYS_PER_WAIT)) {
      for (const row of rows) {
        hashOfKey(hash, row.key);
        filter.add(hash.high, hash.low);
      }
      if (filter.isOverflowed) return;
    }
  }
  filter.complete();
}

/** The hash that the writer looks for before it reads this row. */
function hashOfKey(hash: KeyHash, key: Uint8Array): void {
  const table = tableOfKey(key);
  if (table === TABLE.EVENT_ID) {
    const reader = new ByteReader(key, KEY_PREFIX_BYTES);
    hash.high = reader.u32be();
    hash.low = reader.u32be();
    return;
  }
  const kind = Object.values(HEAD_KIND).find((candidate) => candidate === table);
  const part = kind === undefined ? key.subarray(KEY_PREFIX_BYTES) : headTerm(kind, key);
  hash.start(kind === undefined ? HASH_DOMAIN.TRANSACTION_ID : hashDomainOfHeads(kind));
  hash.add(part, 0, part.length);
  hash.finish();
}
