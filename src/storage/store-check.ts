/**
 * What is looked at before LevelDB opens a store. All of it is read once, and nothing is changed.
 *
 * Logs are read whole, for they are short; of each table only what leads to its rows: footer, index and filter, about
 * one byte in a hundred. The rows themselves follow in the background (table-scrub.ts), unless damage was seen before.
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { verifyLevelLogs } from './level-log-check.ts';
import { checkFiles, ManifestReader, tableName } from './level-manifest.ts';
import { LevelTable } from './level-table.ts';
import { TableScrub } from './table-scrub.ts';

/**
 * Whether there is a store, which is then whole as far as it was looked at.
 * @throws StorageFailure `corrupt`, naming the file and the place (W17, W18, W19).
 */
export function verifyStore(directory: string): boolean {
  const manifest = new ManifestReader(directory).readOn();
  if (manifest === undefined) return false;
  checkFiles(directory, manifest);
  verifyLevelLogs(directory);
  for (const { number, bytes } of manifest.tables) LevelTable.open(join(directory, tableName(number)), bytes).close();
  return true;
}

/**
 * Looks at every row of every table, which may take minutes; the thread does other work in between.
 * @throws StorageFailure as `verifyStore` does.
 */
export async function verifyStoredRows(directory: string): Promise<void> {
  const scrub = new TableScrub(directory);
  scrub.refresh();
  while (scrub.step() !== undefined) await nextTurn();
}
