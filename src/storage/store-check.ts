/**
 * What is looked at before LevelDB opens a store. All of it is read once, and nothing is changed.
 *
 * LevelDB's logs are not read: a record that it drops shows as missing rows. Of each table at least what leads to its
 * rows is read: footer, index and filter, about one byte in a hundred. Its rows, too, where LevelDB may read them at
 * once: it compacts as soon as it is open, and verifies nothing. Such a compaction begins at levels 0 and 1, or at a
 * level that is too large, and what it makes may be too much for the next level, and so on: there is no telling where
 * it ends, short of all tables. So levels 0 and 1 are read whole, and of the others, level by level, as much as the
 * caller gives; the rows in the rest are audited while the node runs.
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkFiles, ManifestReader, tableName } from './level-manifest.ts';
import { LevelTable } from './level-table.ts';

/** Bytes of tables that a start verifies unless it must verify more: about 0.2 s of processor. */
export const ROW_BYTES_DEFAULT: number = 128 * 2 ** 20;
/** Where the compactions of rows begin that were written last. */
const FIRST_LEVEL_MAX = 1;

/**
 * False when there is no store; else the store is whole as far as it was looked at. It may take long; the thread does
 * other work in between.
 * @param rowBytes Of tables that are looked through, unless more of them have to be.
 * @throws StorageFailure `corrupt`, naming the file and the place (W18, W19).
 */
export async function verifyStore(directory: string, rowBytes: number): Promise<boolean> {
  const manifest = new ManifestReader(directory).readOn();
  if (manifest === undefined) return false;
  checkFiles(directory, manifest);
  let bytesLeft = rowBytes;
  for (const live of manifest.tables.toSorted((a, b) => a.level - b.level || a.number - b.number)) {
    const isDue = live.level <= FIRST_LEVEL_MAX || live.bytes <= bytesLeft;
    const table = LevelTable.open(join(directory, tableName(live.number)), live.bytes);
    if (isDue) await verifyRows(table);
    else table.close();
    if (isDue) bytesLeft -= live.bytes;
  }
  return true;
}

async function verifyRows(table: LevelTable): Promise<void> {
  try {
    for (const _ of table.verifyRows()) await nextTurn();
  } finally {
    table.close();
  }
}
