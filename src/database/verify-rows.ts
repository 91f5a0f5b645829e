/**
 * Verifies the rows of the node and of the catalog. No history has their content, so they cannot be derived again. The
 * rows of a database are audited (audit.ts).
 */
import { CATALOG_GROUP } from '#base';
import type { KvReader } from '#kv';
import { verifyRow } from './audit.ts';
import { RowKeys } from './keys.ts';
import { slices } from './walks.ts';

/** @throws DatabaseError, reason `CorruptRecord`, for the first that is damaged. */
export async function verifyNodeRows(kv: KvReader): Promise<void> {
  const { lt } = new RowKeys(CATALOG_GROUP).all();
  for await (const rows of slices(kv.range({ gte: Uint8Array.of(0), lt, fillCache: false }))) {
    for (const { key, value } of rows) verifyRow(key, value);
  }
}
