/**
 * A file next to the store that records damaged rows and segments found while the node ran.
 *
 * Damage may be found long after a start, and the node is restarted automatically: without the note it would serve the
 * damaged rows again until the damage is found once more. With the note, the next start verifies every block of every
 * table and segment and audits the rows of every database before it serves. While a file is damaged, the node does not
 * start. A database with a missing or a damaged row is rebuilt from its history.
 */
import { closeSync, fsyncSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#base';

const NAME = 'damage';

/** @throws DatabaseError when the path is not a regular file. */
export function hasDamageNote(dataDirectory: string): boolean {
  const path = join(dataDirectory, NAME);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return found !== undefined;
  const message = `${path} must be a file, in which the node records damage; move it away`;
  throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' } });
}

/** Appends the text to the note. */
export function noteDamage(dataDirectory: string, text: string): void {
  const file = openSync(join(dataDirectory, NAME), 'a');
  try {
    writeSync(file, `${text}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Removes the note when everything was verified, and what was damaged was rebuilt. */
export function clearDamageNote(dataDirectory: string): void {
  unlinkSync(join(dataDirectory, NAME));
}
