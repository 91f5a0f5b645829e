/**
 * A note beside the store that a table of it was found damaged while the node ran.
 *
 * Damage in the rows of a table is found only some time after a start, and whoever watches over the node starts it
 * again: without the note it would answer from the damaged table again until it is found once more. With the note the
 * next start verifies every block of every table, and the checksum of every row, before it answers anything. While one
 * is damaged the node does not start.
 */
import { closeSync, fsyncSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#base';

const NAME = 'damage';

/** @throws DatabaseError when there is something else in its place. */
export function hasDamageNote(dataDirectory: string): boolean {
  const path = join(dataDirectory, NAME);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return found !== undefined;
  const message = `${path} must be a file, the note of damaged tables that a node leaves there, and is something else; move it away`;
  throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' } });
}

/** Writes the text into the note, behind what is there. */
export function noteDamage(dataDirectory: string, text: string): void {
  const file = openSync(join(dataDirectory, NAME), 'a');
  try {
    writeSync(file, `${text}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Everything was verified and is whole: a backup was put in place. */
export function clearDamageNote(dataDirectory: string): void {
  unlinkSync(join(dataDirectory, NAME));
}
