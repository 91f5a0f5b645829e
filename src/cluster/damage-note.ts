/**
 * A note beside the store that a table of it was found damaged while the node ran.
 *
 * Damage in the rows of a table is found only some time after a start, and whoever watches over the node starts it
 * again: without the note it would answer from the damaged table again until it is found once more. With the note the
 * next start verifies every row of every table before it answers anything.
 */
import { closeSync, existsSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'damage';

export function hasDamageNote(dataDirectory: string): boolean {
  return existsSync(join(dataDirectory, NAME));
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
