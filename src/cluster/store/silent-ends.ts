/**
 * Counts how often the node has ended without an error before the rows of its store were verified.
 *
 * LevelDB reports most damage of its tables, but not all: a compaction that meets keys out of order calls `abort`, and
 * a mapped sector that the disk cannot read raises SIGBUS. The next start meets the same table and ends in the same
 * way. So after some such ends in a row the store counts as damaged. An exit by JavaScript or after a signal to stop is
 * none of them.
 */
import { appendFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { caught, ignoring } from '#base';
import { noteDamage } from './damage-note.ts';

/** A file with a byte for each start whose end was not seen yet. */
const NAME = 'starts';
/** Something else may kill it, such as a lack of memory, and verifying everything takes long. */
const ENDS_MAX = 5;
const TABLE_SUFFIX = '.ldb';
const IGNORING_SYSTEM = ignoring((failure) => failure instanceof Error && 'syscall' in failure);

/** Counts this start of a node with tables. Returns true, and notes damage, when it follows too many silent ends. */
export function countStart(dataDirectory: string, storeDirectory: string): boolean {
  if (!hasTable(storeDirectory)) return false;
  const path = join(dataDirectory, NAME);
  const count = caught(() => statSync(path).size, IGNORING_SYSTEM) ?? 0;
  if (count < ENDS_MAX) {
    // Nothing is counted on a full disk. A directory that is not writable is refused later.
    caught(() => appendFileSync(path, '.'), IGNORING_SYSTEM);
    return false;
  }
  noteDamage(dataDirectory, `${ENDS_MAX} starts in a row ended without an error before all rows were verified`);
  forgetStarts(dataDirectory);
  return true;
}

/** The rows were verified, or the process is about to end in order. */
export function forgetStarts(dataDirectory: string): void {
  rmSync(join(dataDirectory, NAME), { force: true });
}

/** False also for a directory that cannot be read now, as when there are no descriptors left. */
export function hasTable(storeDirectory: string): boolean {
  const names = caught(() => readdirSync(storeDirectory), IGNORING_SYSTEM) ?? [];
  return names.some((name) => name.endsWith(TABLE_SUFFIX));
}
