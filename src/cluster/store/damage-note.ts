/**
 * The file `damage` in the data directory: names damage found while the node ran, and why a start has removed LevelDB.
 *
 * Damage may be found long after a start, and the node is restarted automatically: without the note it would serve the
 * damaged rows again until the damage is found once more. With the note, the next start verifies every history and
 * audits the rows of every database before it serves. A database with a missing or a damaged row is rebuilt from its
 * history. With the line `store`, LevelDB is removed before, which rebuilds all of them.
 */
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#base';

const NAME = 'damage';
const STORE_LINE = 'store';

export interface DamageNote {
  /** Without the line `store`. */
  readonly text: string;
  /** LevelDB is damaged as a whole. */
  readonly isOfStore: boolean;
}

/** @throws DatabaseError when the path is not a regular file. */
export function readDamageNote(dataDirectory: string): DamageNote | undefined {
  const path = join(dataDirectory, NAME);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (!found.isFile()) {
    const message = `${path} must be a file, in which the node records damage; move it away`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' } });
  }
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const text = lines.filter((line) => line !== STORE_LINE);
  return { text: text.join('\n'), isOfStore: text.length < lines.length };
}

/** Appends the text to the note. */
export function noteDamage(dataDirectory: string, { text, isOfStore }: DamageNote): void {
  write(dataDirectory, 'a', isOfStore ? `${text}\n${STORE_LINE}\n` : `${text}\n`);
}

/** Replaces the note: LevelDB was removed for this reason. The note stays until all databases are rebuilt. */
export function noteRemovedRows(dataDirectory: string, fault: string): void {
  write(dataDirectory, 'w', `${fault}\n`);
}

/** Removes the note when everything was verified, and what was damaged was rebuilt. */
export function clearDamageNote(dataDirectory: string): void {
  rmSync(join(dataDirectory, NAME));
}

function write(dataDirectory: string, flags: 'a' | 'w', text: string): void {
  const file = openSync(join(dataDirectory, NAME), flags);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
