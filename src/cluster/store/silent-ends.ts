/**
 * Counts how often the node has ended without an error within ten minutes.
 *
 * LevelDB reports most damage of its tables, but not all: a compaction that meets keys out of order calls `abort`, and
 * a mapped sector that the disk cannot read raises SIGBUS. The next start meets the same table soon, and ends in the
 * same way. So after some such ends in a row LevelDB counts as damaged, once: if the node ends so again, something else
 * is the reason, such as a lack of memory. An exit by JavaScript or after a signal to stop is none of them.
 */
import { appendFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { caught, ignoring } from '#base';
import { noteDamage } from './damage-note.ts';

/** Time of a run after which an earlier start is not counted. */
export const LONG_RUN_MS = 600_000;
/** A file with a byte for each start whose end was not seen yet. */
const NAME = 'starts';
/** Something else may kill it, such as a lack of memory. */
const ENDS_MAX = 5;
const TABLE_SUFFIX = '.ldb';
const IGNORING_SYSTEM = ignoring((failure) => failure instanceof Error && 'syscall' in failure);

/** Counts this start of a node with tables. The one that follows too many silent ends notes damage. */
export function countStart(dataDirectory: string, storeDirectory: string): void {
  if (!hasTable(storeDirectory)) return;
  const path = join(dataDirectory, NAME);
  const count = caught(() => statSync(path).size, IGNORING_SYSTEM) ?? 0;
  // Nothing is counted on a full disk. A directory that is not writable is refused later.
  caught(() => appendFileSync(path, '.'), IGNORING_SYSTEM);
  const text = `${ENDS_MAX} starts in a row ended without an error within ten minutes`;
  if (count === ENDS_MAX)
    caught(() => noteDamage(dataDirectory, { text, groups: [], isOfStore: true }), IGNORING_SYSTEM);
}

/**
 * The process has run for long enough, or is about to end in order. On a disk that has become read-only the count
 * stays: a node must not end because of it, and an orderly stop must not become a failure.
 */
export function forgetStarts(dataDirectory: string): void {
  caught(() => rmSync(join(dataDirectory, NAME), { force: true }), IGNORING_SYSTEM);
}

/** False also for a directory that cannot be read now, as when there are no descriptors left. */
export function hasTable(storeDirectory: string): boolean {
  const names = caught(() => readdirSync(storeDirectory), IGNORING_SYSTEM) ?? [];
  return names.some((name) => name.endsWith(TABLE_SUFFIX));
}
